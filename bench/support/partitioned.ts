import { BEFORE_PARTITION, createDay } from '../../src/db/dedup-partitions';
import { partitionProcessedEvents } from '../../src/db/partition-processed-events';
import type { Pool } from '../../src/db/pool';
import { inTransaction } from '../../src/db/transaction';

const INSERTED_AT_ONCE = 1_000_000;
const DAY_MS = 86_400_000;

/** An empty table is converted, and its past days get the partitions that they would have had. */
export async function partitionByDay(pool: Pool, days: number, daysAhead: number): Promise<void> {
  await partitionProcessedEvents(pool);
  await pool.query(`drop table ${BEFORE_PARTITION}`);
  const { rows } = await pool.query<{ name: string }>(
    `select relid::regclass::text as "name" from pg_partition_tree('processed_events')
     where relid::regclass::text ~ '_p\\d{8}$'`,
  );
  for (const { name } of rows) await pool.query(`drop table ${name}`);
  for (let ago = days; ago >= -daysAhead; ago -= 1) {
    const day = new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10);
    await inTransaction(pool, (connection) => createDay(connection, day));
  }
}

/**
 * Rows of so many days, evenly, processed when they happened, in the order in which they would have come. What the
 * trigger of the partitioned layout would look for in each row is known here: every identity comes once.
 */
export async function insertEvents(pool: Pool, rows: number, days: number): Promise<void> {
  const connection = await pool.connect();
  await connection.query('set session_replication_role = replica');
  for (let from = 0; from < rows; from += INSERTED_AT_ONCE) {
    await connection.query(
      `insert into processed_events (source, event_type, event_id, content_hash, event_time, processed_at)
       select 'VENUE-' || n % 5, 'FILL', md5(n::text), sha256(n::text::bytea), stamp, stamp
       from generate_series($1::bigint, $2::bigint) n,
            lateral (select now() - ($3::bigint - n) * ($4::float8 / $3) * interval '1 day' as stamp) stamps`,
      [from, Math.min(from + INSERTED_AT_ONCE, rows) - 1, rows, days],
    );
  }
  connection.release(true);
}
