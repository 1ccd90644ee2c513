import { randomUUID } from 'node:crypto';
import type { PurgePlan } from '../../src/db/purge-run';
import type { Pool } from '../../src/db/pool';
import type { OrderStatus } from '../../src/domain/order-status';

export const DAY_MS = 86_400_000;
export const WINDOW_MS = 30 * DAY_MS;

/** Dedup rows that were processed so long ago, by the database's clock, a millisecond apart. Returns their source. */
export async function insertProcessedEvents(pool: Pool, count: number, ageMs: number): Promise<string> {
  const source = randomUUID();
  await pool.query(
    `insert into processed_events (source, event_type, event_id, content_hash, event_time, processed_at)
     select $1::text, 'FILL', n::text, sha256(n::text::bytea), stamp, stamp
     from generate_series(1, $2::integer) n,
          lateral (select now() - ($3::bigint + n) * interval '1 millisecond' as stamp) stamps`,
    [source, count, ageMs],
  );
  return source;
}

export async function countProcessedEvents(pool: Pool, source?: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::integer as count from processed_events where $1::text is null or source = $1::text',
    [source ?? null],
  );
  return rows[0]!.count;
}

/** Makes an order look as if it was opened and last changed so long ago. */
export async function age(
  pool: Pool,
  key: { readonly accountId: string; readonly clientOrderId: string },
  change: { readonly status?: OrderStatus; readonly openedMsAgo: number; readonly changedMsAgo: number },
): Promise<void> {
  await pool.query(
    `with aged as (
       update orders
       set status = coalesce($3::text, status), accepted_at = now() - $4::bigint * interval '1 millisecond',
           updated_at = now() - $5::bigint * interval '1 millisecond'
       where account_id = $1::text and client_order_id = $2::text)
     update idempotency_keys set created_at = now() - $4::bigint * interval '1 millisecond'
     where account_id = $1::text and client_order_id = $2::text`,
    [key.accountId, key.clientOrderId, change.status ?? null, change.openedMsAgo, change.changedMsAgo],
  );
}

/** A plan for few rows and no waiting. */
export function aPlan(change: Partial<PurgePlan> = {}): PurgePlan {
  return {
    windowMs: { processed_events: WINDOW_MS, idempotency_keys: WINDOW_MS },
    pace: { maxRows: 100, minRows: 10, slowMs: 5_000 },
    maxBatches: 1_000,
    maxRunMs: 60_000,
    pauseMs: 0,
    ...change,
  };
}
