/**
 * What crosses between Temporal and the activities of the scheduled workflows. Plain JSON values only: these are stored
 * in histories and heartbeats, so a field is never renamed and never changes its meaning.
 */

export type PurgedTable = 'processed_events' | 'idempotency_keys';

/** How far the purge of one table is. */
export interface TableProgress {
  readonly table: PurgedTable;
  /** Rows that this run has deleted. */
  readonly rows: number;
  readonly batches: number;
  /** Of the next batch. */
  readonly batchRows: number;
  /** Everything up to this moment is dealt with; RFC 3339, the database's clock. */
  readonly through?: string;
  /** Rows older than this are past their window; RFC 3339, the database's clock. */
  readonly until?: string;
  /** Where the next batch goes on; for the purge itself. */
  readonly cursor?: string;
  readonly done: boolean;
  /** What an operator should know about it. */
  readonly remark?: string;
}

/** The heartbeat of a purge: what operators see while it runs, and where the next attempt goes on. */
export interface PurgeProgress {
  readonly tables: readonly TableProgress[];
}

export interface PurgeResult extends PurgeProgress {
  /** `done`: nothing past its window is left. `bounded`: there is more, the next run goes on. `held`: another one runs. */
  readonly stopped: 'done' | 'bounded' | 'held';
  /** The same, in words. */
  readonly why: string;
  /** Window, retention and hold, in words; absent when another runner holds the purge. */
  readonly window?: string;
}

/** A stored figure that is not what the fills give. */
export interface FoundDifference {
  readonly accountId: string;
  readonly symbol: string;
  readonly where: string;
  readonly stored: string;
  readonly folded: string;
}

/** How far a verification of all positions is; each call of the activity goes on from there. */
export interface VerifyProgress {
  readonly positions: number;
  /** Positions with at least one difference. */
  readonly differing: number;
  /** The first of the differences. */
  readonly differences: readonly FoundDifference[];
  /** The last position that was looked at; absent before the first and after the last. */
  readonly after?: { readonly accountId: string; readonly symbol: string };
}

export interface VerifyPage extends VerifyProgress {
  readonly done: boolean;
}
