import type { Response } from 'express';

/** What is known of a request besides the request itself. */
export interface RequestContext {
  /** In every answer and log line. */
  readonly requestId: string;
  /** The monotonic clock. */
  readonly receivedAtMs: number;
  /** Whose API key was sent; undefined before authentication. */
  accountId?: string;
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
  const { accountId } = contextOf(response);
  if (accountId === undefined) throw new Error('a route that needs an account stands before authentication');
  return accountId;
}
