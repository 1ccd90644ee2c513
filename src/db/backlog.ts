import type { PurgedTable } from '../contracts/maintenance';
import { SET_ASIDE_REASONS, type SetAsideReason } from '../contracts/operator-api';
import { allRows, firstRow, type Queryable } from './pool';

/** The tables whose rows end in time. */
const DEDUP_TABLES = ['processed_events', 'idempotency_keys'] as const satisfies readonly PurgedTable[];

export type QuarantineReason = Exclude<SetAsideReason, 'parked'>;
export const QUARANTINE_REASONS = SET_ASIDE_REASONS.filter((reason) => reason !== 'parked');

/** Nobody needs to know more exactly how bad it is, and a flood must not make its own measurement slow. */
export const MAX_COUNTED = 10_000;

/**
 * How many rows the dedup tables have, as PostgreSQL's own statistics know it: counting ten million rows to draw a
 * line would cost more than the line is worth. A table that was never analysed has only the counter of its changes.
 * Of a partitioned table its partitions count, not itself: PostgreSQL keeps their sum there as well, sometimes.
 */
export async function estimateDedupRows(queryable: Queryable): Promise<Map<PurgedTable, number>> {
  const rows = await allRows<{ table: PurgedTable; rows: number }>(queryable, {
    text: `
      select t.name as "table",
             sum(case when c.reltuples >= 0 then c.reltuples else pg_stat_get_live_tuples(c.oid) end)::float8 as "rows"
      from unnest($1::text[]) as t (name)
      join pg_class c
        on c.oid = t.name::regclass
        or c.oid in (select inhrelid from pg_inherits where inhparent = t.name::regclass)
      where c.relkind = 'r'
      group by t.name`,
    values: [DEDUP_TABLES],
  });
  return new Map(rows.map((row) => [row.table, row.rows]));
}

/**
 * Seconds since the oldest event in the dedup table was processed, by the database's clock; null when there is none.
 * Read off the index on `processed_at`, of each partition where there are some.
 */
export async function oldestProcessedEventAge(queryable: Queryable): Promise<number | null> {
  const row = await firstRow<{ age: number | null }>(queryable, {
    text: `
      select extract(epoch from clock_timestamp() - min(processed_at))::float8 as "age"
      from processed_events`,
  });
  return row?.age ?? null;
}

/** What waits, and how long its oldest has, in seconds by the database's clock; null when nothing waits. */
export interface OpenEvents {
  readonly oldestAge: number | null;
}

export interface OpenQuarantine extends OpenEvents {
  /** At most `MAX_COUNTED` in all; the newest count. A reason without any is not there. */
  readonly countByReason: ReadonlyMap<QuarantineReason, number>;
}

/** The events in quarantine that nobody has decided about; by the index on these alone. */
export async function openQuarantine(queryable: Queryable): Promise<OpenQuarantine> {
  const rows = await allRows<{ reason: QuarantineReason; count: number; oldestAge: number }>(queryable, {
    text: `
      select reason as "reason", count(*)::integer as "count",
             (select extract(epoch from clock_timestamp() - quarantined_at)::float8
              from quarantined_events where decision_id is null
              order by quarantined_at, id limit 1) as "oldestAge"
      from (
        select reason from quarantined_events where decision_id is null
        order by quarantined_at desc, id desc limit $1::integer
      ) newest
      group by reason`,
    values: [MAX_COUNTED],
  });
  return {
    countByReason: new Map(rows.map(({ reason, count }) => [reason, count])),
    oldestAge: rows[0]?.oldestAge ?? null,
  };
}

export interface OpenParked extends OpenEvents {
  /** At most `MAX_COUNTED`. */
  readonly count: number;
}

/**
 * The executions that wait for their order. They leave the table when it appears, so that beside them only those are
 * read which a person has decided about.
 */
export async function openParked(queryable: Queryable): Promise<OpenParked> {
  const row = await firstRow<{ count: number; oldestAge: number | null }>(queryable, {
    text: `
      select count(*)::integer as "count",
             extract(epoch from clock_timestamp() - min(parked_at))::float8 as "oldestAge"
      from (
        select parked_at from parked_executions where decision_id is null
        order by sequence limit $1::integer
      ) oldest`,
    values: [MAX_COUNTED],
  });
  return { count: row?.count ?? 0, oldestAge: row?.oldestAge ?? null };
}
