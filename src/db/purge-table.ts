import type { PurgedTable } from '../contracts/maintenance';
import { dedupLayout, type DedupLayout } from './dedup-partitions';
import type { Queryable } from './pool';
import { purgeIdempotencyKeys } from './purge-idempotency-keys';
import { purgeProcessedEvents } from './purge-processed-events';
import { purgeProcessedPartitions } from './purge-processed-partitions';
import type { PurgeSession } from './purge-session';

/** One way of ending the old rows of one table: a call deals with at most `limit` of them and has then committed. */
export type EndOldRows = (session: PurgeSession, request: EndRequest) => Promise<EndedRows>;

export interface EndRequest {
  readonly windowMs: number;
  readonly limit: number;
  /** As the call before gave it. */
  readonly cursor: string | undefined;
}

export interface EndedRows {
  readonly rows: number;
  /** There may be more that is past the window. */
  readonly more: boolean;
  /** Everything up to this moment is dealt with; RFC 3339. */
  readonly through: string | undefined;
  /** Where the window begins; RFC 3339, the database's clock. */
  readonly until: string;
  readonly cursor: string | undefined;
  /** What an operator should know about it. */
  readonly remark?: string;
}

const EVENTS_BY_LAYOUT: Readonly<Record<DedupLayout, EndOldRows>> = {
  standard: purgeProcessedEvents,
  partitioned: purgeProcessedPartitions,
};

/** How the old rows of each table end, in the layout that this database has. */
export async function purgesOf(queryable: Queryable): Promise<Readonly<Record<PurgedTable, EndOldRows>>> {
  return {
    processed_events: EVENTS_BY_LAYOUT[await dedupLayout(queryable)],
    idempotency_keys: purgeIdempotencyKeys,
  };
}
