import { assert } from '../domain/assert';
import { firstRow } from './pool';
import type { EndOldRows } from './purge-table';

/** The tables whose dedup rows end one by one; a partition of one day is dropped whole instead. */
export type DedupRowsTable = 'processed_events' | 'processed_events_default' | 'processed_events_before';

interface EventBatch {
  readonly rows: number;
  readonly through: string | null;
  readonly until: string;
}

/**
 * One batch of the oldest dedup rows that are past the window, in one transaction. The clock is the database's. Rows are
 * found by the index on `processed_at` and deleted by their place, so a batch reads no more than it deletes; it starts
 * where the last one ended, because the index still holds what was just deleted. Nothing but the purge touches existing
 * rows, so it waits for nobody; an event that comes again while its row goes waits until the batch is committed.
 */
export function purgeRowsOf(table: DedupRowsTable): EndOldRows {
  return async (session, { windowMs, limit, cursor }) => {
    const batch = await session.transaction((connection) =>
      firstRow<EventBatch>(connection, {
        text: statementOf(table),
        values: [windowMs, limit, cursor ?? null],
      }),
    );
    assert(batch !== undefined, 'an aggregate gives one row');
    const { rows, until } = batch;
    const through = batch.through ?? undefined;
    return { rows, more: rows === limit, through, until, cursor: through ?? cursor };
  };
}

/** A place is a row's own within one table only, so neither part looks into the partitions of one. */
function statementOf(table: DedupRowsTable): string {
  return `
    with gone as (
      delete from only ${table}
      where ctid = any (array(
          select p.ctid from only ${table} p
          where p.processed_at >= coalesce($3::timestamptz, '-infinity')
            and p.processed_at < now() - $1::bigint * interval '1 millisecond'
          order by p.processed_at limit $2::integer))
        and processed_at < now() - $1::bigint * interval '1 millisecond'
      returning processed_at
    )
    select count(*)::integer as "rows",
           to_char(max(processed_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "through",
           to_char((now() - $1::bigint * interval '1 millisecond') at time zone 'UTC',
                   'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "until"
    from gone`;
}

export const purgeProcessedEvents: EndOldRows = purgeRowsOf('processed_events');
