import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { assert } from '../domain/assert';
import { ACCOUNT_ID } from '../domain/ids';
import { allRows, firstRow, type Queryable } from './pool';

const KEY_ID_BYTES = 8;
const SECRET_BYTES = 32;
const KEY_TEXT = /^tk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/;

/** A new key, shown once. */
export interface NewApiKey {
  /** `tk_<key id>_<secret>`; the database keeps only its hash. */
  readonly key: string;
  readonly keyId: string;
}

/** `account`: its account's orders and positions. `operator`: also what was set aside, of every account. */
export type ApiKeyScope = 'account' | 'operator';

/** Whose a key is and what it may do. */
export interface KeyHolder {
  readonly keyId: string;
  readonly accountId: string;
  readonly scope: ApiKeyScope;
}

export interface ApiKeyRow extends KeyHolder {
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

/** Creates a key for an account. The returned text cannot be had again. */
export async function createApiKey(
  queryable: Queryable,
  accountId: string,
  scope: ApiKeyScope = 'account',
): Promise<NewApiKey> {
  assert(ACCOUNT_ID.test(accountId), `bad account id ${JSON.stringify(accountId)}`);
  const keyId = randomBytes(KEY_ID_BYTES).toString('hex');
  const key = `tk_${keyId}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  await queryable.query({
    text: 'insert into api_keys (key_id, account_id, key_hash, scope) values ($1::text, $2::text, $3::bytea, $4::text)',
    values: [keyId, accountId, hashOf(key), scope],
  });
  return { key, keyId };
}

/** Whose a key is that is known and not revoked; undefined for any other text. */
export async function findKeyHolder(queryable: Queryable, key: string): Promise<KeyHolder | undefined> {
  const keyId = KEY_TEXT.exec(key)?.[1];
  if (keyId === undefined) return undefined;
  const row = await firstRow<Omit<KeyHolder, 'keyId'> & { keyHash: Buffer }>(queryable, {
    name: 'find-api-key',
    text: `
      select account_id as "accountId", scope as "scope", key_hash as "keyHash"
      from api_keys where key_id = $1::text and revoked_at is null`,
    values: [keyId],
  });
  if (row === undefined || !timingSafeEqual(row.keyHash, hashOf(key))) return undefined;
  return { keyId, accountId: row.accountId, scope: row.scope };
}

/** False when there is no such key; revoking again changes nothing. */
export async function revokeApiKey(queryable: Queryable, keyId: string): Promise<boolean> {
  const result = await queryable.query({
    text: 'update api_keys set revoked_at = coalesce(revoked_at, now()) where key_id = $1::text',
    values: [keyId],
  });
  return result.rowCount === 1;
}

/** Oldest first, revoked ones included; of all accounts when none is named. */
export async function listApiKeys(queryable: Queryable, accountId?: string): Promise<ApiKeyRow[]> {
  return allRows<ApiKeyRow>(queryable, {
    text: `
      select key_id as "keyId", account_id as "accountId", scope as "scope", created_at as "createdAt",
             revoked_at as "revokedAt"
      from api_keys where $1::text is null or account_id = $1::text order by created_at, key_id`,
    values: [accountId ?? null],
  });
}

// The secret holds 256 random bits: there is nothing to guess, so a fast hash is enough.
function hashOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}
