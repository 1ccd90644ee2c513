import type { RequestHandler, Response } from 'express';
import { findAccountOfKey } from '../db/api-keys';
import type { Queryable } from '../db/pool';
import { ProblemError } from './problem';

/** A revoked key stops working within this time, in every process. */
export const KEY_CACHE_TTL_MS = 2_000;
/** Only keys that were found are kept, so strangers cannot fill this up. */
const KEY_CACHE_ENTRIES = 1_000;

interface CachedKey {
  readonly accountId: string;
  readonly validUntilMs: number;
}

/** Finds the account of `Authorization: Bearer tk_…`; everything behind it is scoped to that account. */
export function authenticate(queryable: Queryable): RequestHandler {
  const cache = new Map<string, CachedKey>();
  const accountOf = async (key: string): Promise<string | undefined> => {
    const nowMs = performance.now();
    const cached = cache.get(key);
    if (cached !== undefined && cached.validUntilMs > nowMs) return cached.accountId;
    cache.delete(key);
    const accountId = await findAccountOfKey(queryable, key);
    if (accountId === undefined) return undefined;
    if (cache.size >= KEY_CACHE_ENTRIES) cache.clear();
    cache.set(key, { accountId, validUntilMs: nowMs + KEY_CACHE_TTL_MS });
    return accountId;
  };
  return async (request, response, next) => {
    const key = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
    const accountId = key === undefined ? undefined : await accountOf(key);
    if (accountId === undefined) {
      response.setHeader('WWW-Authenticate', 'Bearer');
      throw new ProblemError(
        'UNAUTHENTICATED',
        'send "Authorization: Bearer" with an API key that is not revoked',
      );
    }
    response.locals['accountId'] = accountId;
    next();
  };
}

/** The account that this request may read and write. */
export function accountOf(response: Response): string {
  const accountId: unknown = response.locals['accountId'];
  if (typeof accountId !== 'string')
    throw new Error('a route that needs an account stands before authentication');
  return accountId;
}
