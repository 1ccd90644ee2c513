import type { Response } from 'express';
import type { KeyHolder } from '../db/api-keys';

/** What is known of a request besides the request itself. */
export interface RequestContext {
  /** In every answer and log line. */
  readonly requestId: string;
  /** The monotonic clock. */
  readonly receivedAtMs: number;
  /** Whose API key was sent; undefined before authentication. */
  holder?: KeyHolder;
}

const CONTEXT = 'context';

export function setContext(response: Response, context: RequestContext): void {
  response.locals[CONTEXT] = context;
}

export function contextOf(response: Response): RequestContext {
  return response.locals[CONTEXT] as RequestContext;
}

/** The account that this request may read and write. */
export function accountOf(response: Response): string {
  return holderOf(response).accountId;
}

/** The name under which a decision of this request is recorded. */
export function operatorOf(response: Response): string {
  return `api-key:${holderOf(response).keyId}`;
}

/** Whose key the request carries. */
export function holderOf(response: Response): KeyHolder {
  const { holder } = contextOf(response);
  if (holder === undefined) throw new Error('a route that needs an account stands before authentication');
  return holder;
}
