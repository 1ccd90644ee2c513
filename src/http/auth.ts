import { hash } from 'node:crypto';
import type { RequestHandler } from 'express';
import { findKeyHolder, type KeyHolder } from '../db/api-keys';
import type { Queryable } from '../db/pool';
import { ProblemError } from './problem';
import { contextOf } from './request-context';

/** A revoked key stops working within this time, in every process. */
export const KEY_CACHE_TTL_MS = 2_000;
/** Only keys that were found are kept, so strangers cannot fill this up. */
const KEY_CACHE_ENTRIES = 1_000;

/** The scheme's name is not case-sensitive (RFC 9110). */
const BEARER = /^bearer +(\S+)$/i;

/**
 * Finds whose key `Authorization: Bearer tk_…` carries; everything behind it is scoped to the account of the key, and
 * what is for operators to the keys that have that scope.
 */
export function authenticate(queryable: Queryable): RequestHandler {
  const holders = new KeyCache();
  return async (request, response, next) => {
    const key = BEARER.exec(request.headers.authorization ?? '')?.[1];
    const holder = key === undefined ? undefined : (holders.get(key) ?? (await look(key)));
    if (holder === undefined) {
      const detail = 'send "Authorization: Bearer" with an API key that is not revoked';
      throw new ProblemError('UNAUTHENTICATED', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
    }
    contextOf(response).holder = holder;
    next();
  };

  async function look(key: string): Promise<KeyHolder | undefined> {
    // From before the look: a key that is revoked during it is not valid any longer for that.
    const validUntilMs = performance.now() + KEY_CACHE_TTL_MS;
    const holder = await findKeyHolder(queryable, key);
    if (holder !== undefined) holders.set(key, { holder, validUntilMs });
    return holder;
  }
}

interface CachedKey {
  readonly holder: KeyHolder;
  /** The monotonic clock. */
  readonly validUntilMs: number;
}

/** The holders of keys seen a moment ago, by the keys' digests: the keys themselves are not kept. */
class KeyCache {
  readonly #entries = new Map<string, CachedKey>();

  get(key: string): KeyHolder | undefined {
    const digest = digestOf(key);
    const entry = this.#entries.get(digest);
    if (entry === undefined) return undefined;
    if (entry.validUntilMs > performance.now()) return entry.holder;
    this.#entries.delete(digest);
    return undefined;
  }

  set(key: string, entry: CachedKey): void {
    const oldest = this.#entries.keys().next();
    if (this.#entries.size >= KEY_CACHE_ENTRIES && oldest.done !== true) this.#entries.delete(oldest.value);
    this.#entries.set(digestOf(key), entry);
  }
}

function digestOf(key: string): string {
  return hash('sha256', key, 'base64');
}
