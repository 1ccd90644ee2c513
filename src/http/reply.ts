import type { Response } from 'express';
import { contextOf } from './request-context';
import { SECURITY_HEADERS } from './security-headers';

/** An answer whose body is a JSON text already. */
export interface Reply {
  readonly status: number;
  readonly contentType: 'application/json' | 'application/problem+json';
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Every answer of the API leaves through here, in one write, past express's own `send`: stored answers go out byte for
 * byte, and a repeat costs little. A request that ran out of time has had its answer; a second one is dropped.
 */
export function reply(response: Response, { status, contentType, body, headers = {} }: Reply): void {
  if (response.headersSent) return;
  const fields = SECURITY_HEADERS.concat(
    ['Content-Type', contentType],
    ['Content-Length', String(Buffer.byteLength(body))],
    ['X-Request-Id', contextOf(response).requestId],
  );
  for (const name in headers) fields.push(name, headers[name] ?? '');
  response.writeHead(status, fields).end(body);
}

export function replyJson(
  response: Response,
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): void {
  reply(response, {
    status,
    contentType: 'application/json',
    body: JSON.stringify(body),
    ...(headers === undefined ? {} : { headers }),
  });
}
