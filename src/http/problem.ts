import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { ERROR_CODES, problemOf, type ErrorCode } from '../contracts/error-codes';
import { databaseFault } from '../db/pg-errors';
import type { Logger } from '../observability/logger';
import { TemporalUnavailableError } from '../temporal/order-gateway';

/** Seconds after which a 503 may be tried again. */
const RETRY_AFTER_SECONDS = 1;

/** An answer that is an error, with everything the client needs to know. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly code: ErrorCode;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, detail: string, facts: Readonly<Record<string, unknown>> = {}) {
    super(detail);
    this.code = code;
    this.facts = facts;
  }
}

/** Sends a problem document; what may be tried again says when. */
export function sendProblem(
  response: Response,
  code: ErrorCode,
  detail: string,
  facts: Readonly<Record<string, unknown>> = {},
): void {
  const { status, retry } = ERROR_CODES[code];
  if (retry === 'later') response.setHeader('Retry-After', String(RETRY_AFTER_SECONDS));
  const requestId = response.getHeader('X-Request-Id');
  response
    .status(status)
    .type('application/problem+json')
    .send(JSON.stringify(problemOf(code, detail, { ...facts, requestId })));
}

export const notFound: RequestHandler = (request, response) => {
  sendProblem(response, 'NOT_FOUND', `there is nothing at ${request.path}`);
};

/** 405 for a known path, with what is allowed there. */
export function onlyMethods(...methods: readonly string[]): RequestHandler {
  return (request, response) => {
    response.setHeader('Allow', methods.join(', '));
    sendProblem(
      response,
      'METHOD_NOT_ALLOWED',
      `${request.method} is not allowed here, only ${methods.join(', ')}`,
    );
  };
}

/** The one mapping of errors to answers. What nobody expected becomes an opaque 500 with a request id. */
export function problemHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const known = knownProblem(error);
    if (known !== undefined) {
      sendProblem(response, known.code, known.message, known.facts);
      return;
    }
    logger.error({ err: error, requestId: requestIdOf(response), path: request.path }, 'an unexpected error');
    sendProblem(response, 'INTERNAL', 'the error was logged under this request id');
  };
}

function knownProblem(error: unknown): ProblemError | undefined {
  if (error instanceof ProblemError) return error;
  if (error instanceof TemporalUnavailableError) {
    return new ProblemError(
      'TEMPORAL_UNAVAILABLE',
      'nothing was started, or it will be answered when you send the same body again',
    );
  }
  if (error instanceof URIError) return new ProblemError('INVALID_PATH', 'the path has a malformed % escape');
  if (databaseFault(error) !== 'permanent') {
    return new ProblemError('DATABASE_UNAVAILABLE', 'sending the same request again is safe');
  }
  return bodyProblem(error);
}

/** What express's body parser throws. */
function bodyProblem(error: unknown): ProblemError | undefined {
  if (!(error instanceof Error) || !('type' in error)) return undefined;
  switch (error.type) {
    case 'entity.too.large':
      return new ProblemError('PAYLOAD_TOO_LARGE', 'the body is larger than this API takes');
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new ProblemError('UNSUPPORTED_MEDIA_TYPE', 'the body must be uncompressed UTF-8 JSON');
    case 'request.aborted':
    case 'request.size.invalid':
      return new ProblemError('MALFORMED_JSON', 'the body ended early');
    default:
      return undefined;
  }
}

export function requestIdOf(response: Response): string {
  return String(response.getHeader('X-Request-Id') ?? '');
}

/** For handlers that answer with JSON. */
export function sendJson(response: Response, status: number, body: unknown): void {
  response.status(status).type('application/json').send(JSON.stringify(body));
}

export type { Request, Response };
