import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { ERROR_CODES, problemOf, type ErrorCode } from '../contracts/error-codes';
import { databaseFault } from '../db/pg-errors';
import type { Logger } from '../observability/logger';
import { TemporalUnavailableError } from '../temporal/order-gateway';
import { reply } from './reply';
import { contextOf } from './request-context';

/** Seconds after which an answer that is worth trying for again may be tried for. */
export const RETRY_AFTER_SECONDS = 1;

export interface ProblemOptions extends ErrorOptions {
  /** Further members of the problem document. */
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that is an error, with everything the client needs to know. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly code: ErrorCode;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, detail: string, options: ProblemOptions = {}) {
    super(detail, options);
    this.code = code;
    this.facts = options.facts ?? {};
    this.headers = options.headers ?? {};
  }
}

/** Sends a problem document; what may be tried again says when. */
export function sendProblem(response: Response, problem: ProblemError): void {
  const { status, retry } = ERROR_CODES[problem.code];
  const facts = { ...problem.facts, requestId: contextOf(response).requestId };
  reply(response, {
    status,
    contentType: 'application/problem+json',
    body: JSON.stringify(problemOf(problem.code, problem.message, facts)),
    headers: {
      ...problem.headers,
      ...(retry === 'later' ? { 'Retry-After': String(RETRY_AFTER_SECONDS) } : {}),
    },
  });
}

export const notFound: RequestHandler = (request) => {
  throw new ProblemError('NOT_FOUND', `there is nothing at ${request.path}`);
};

/** 405 for a known path, with what is allowed there. */
export function onlyMethods(...methods: readonly string[]): RequestHandler {
  const allowed = methods.join(', ');
  return (request) => {
    throw new ProblemError('METHOD_NOT_ALLOWED', `${request.method} is not allowed here, only ${allowed}`, {
      headers: { Allow: allowed },
    });
  };
}

/** The one mapping of errors to answers. What nobody expected becomes an opaque 500 with a request id. */
export function problemHandler(logger: Logger): ErrorRequestHandler {
  // Express knows an error handler by its four parameters.
  // eslint-disable-next-line @typescript-eslint/no-unused-vars
  return (error: unknown, request, response, _next) => {
    const problem =
      knownProblem(error) ??
      new ProblemError('INTERNAL', 'the error was logged under this request id', { cause: error });
    if (ERROR_CODES[problem.code].status >= 500) {
      const { requestId } = contextOf(response);
      const { method, path } = request;
      const level = problem.code === 'INTERNAL' ? 'error' : 'warn';
      logger[level]({ err: error, code: problem.code, requestId, method, path }, 'a request failed');
    }
    sendProblem(response, problem);
  };
}

function knownProblem(error: unknown): ProblemError | undefined {
  if (error instanceof ProblemError) return error;
  if (error instanceof TemporalUnavailableError) {
    return new ProblemError(
      'TEMPORAL_UNAVAILABLE',
      'whether or not it was started, sending the same request again is safe',
    );
  }
  if (error instanceof URIError) {
    return new ProblemError('INVALID_PATH', 'the path has a % that does not begin an escape of UTF-8');
  }
  if (databaseFault(error) !== 'permanent') {
    return new ProblemError('DATABASE_UNAVAILABLE', 'sending the same request again is safe');
  }
  return bodyProblem(error);
}

/** What the body parser of express throws. */
function bodyProblem(error: unknown): ProblemError | undefined {
  if (!(error instanceof Error) || !('type' in error)) return undefined;
  switch (error.type) {
    case 'entity.too.large': {
      const limit = 'limit' in error ? ` of ${String(error.limit)} bytes` : '';
      return new ProblemError('PAYLOAD_TOO_LARGE', `the body is larger than the limit${limit}`);
    }
    case 'encoding.unsupported':
      return new ProblemError('UNSUPPORTED_MEDIA_TYPE', 'the body must not be compressed');
    case 'request.aborted':
    case 'request.size.invalid':
      return new ProblemError('MALFORMED_JSON', 'the body ended early');
    default:
      return undefined;
  }
}
