import type { PurgedTable, PurgeProgress, TableProgress } from '../contracts/maintenance';
import { nextBatchRows, type PurgePace } from '../domain/purge-pace';
import { databaseFault } from './pg-errors';
import type { PurgeSession } from './purge-session';
import { purgesOf, type EndOldRows } from './purge-table';

export interface PurgePlan {
  readonly windowMs: Readonly<Record<PurgedTable, number>>;
  readonly pace: PurgePace;
  /** Of each table, in one run. */
  readonly maxBatches: number;
  /** No batch begins later than this after the start. */
  readonly maxRunMs: number;
  /** At least so long between two batches, and never shorter than the batch took: half of the time is the orders'. */
  readonly pauseMs: number;
}

export interface PurgeHooks {
  /** After each batch, when it is committed. */
  readonly onBatch: (progress: PurgeProgress, batch: CommittedBatch) => void;
  /** Rejects when the run is to end. */
  readonly pause: (ms: number) => Promise<void>;
}

export interface CommittedBatch {
  readonly table: PurgedTable;
  readonly rows: number;
  readonly tookMs: number;
}

/** A batch that waits for a lock, or takes too long, is tried again with half the rows, so often in a row. */
const MAX_FAILURES = 5;

export function noProgress({ pace }: PurgePlan): PurgeProgress {
  const start = { rows: 0, batches: 0, batchRows: pace.maxRows, done: false };
  return {
    tables: [
      { table: 'processed_events', ...start },
      { table: 'idempotency_keys', ...start },
    ],
  };
}

/**
 * Deletes what is past its window, batch by batch, in turns between the tables, until nothing is left or the bounds of
 * a run are met. Each batch is committed by itself: whenever this ends, and however, what is gone was due and the rest is
 * for the next run.
 */
export async function runPurge(
  session: PurgeSession,
  plan: PurgePlan,
  start: PurgeProgress,
  hooks: PurgeHooks,
): Promise<PurgeProgress> {
  const purges = await purgesOf(session);
  const giveUpAt = performance.now() + plan.maxRunMs;
  let progress = start;
  for (;;) {
    const open = progress.tables.filter(({ done, batches }) => !done && batches < plan.maxBatches);
    if (open.length === 0) return progress;
    for (const table of open) {
      if (performance.now() > giveUpAt) return progress;
      const { after, batch } = await purgeBatch(session, plan, table, { end: purges[table.table], hooks });
      progress = { tables: progress.tables.map((each) => (each === table ? after : each)) };
      hooks.onBatch(progress, batch);
      await hooks.pause(Math.max(plan.pauseMs, batch.tookMs));
    }
  }
}

interface BatchParts {
  readonly end: EndOldRows;
  readonly hooks: PurgeHooks;
}

async function purgeBatch(
  session: PurgeSession,
  plan: PurgePlan,
  before: TableProgress,
  { end, hooks }: BatchParts,
): Promise<{ readonly after: TableProgress; readonly batch: CommittedBatch }> {
  const { table, cursor } = before;
  let limit = before.batchRows;
  for (let failures = 0; ; failures += 1) {
    const startedAt = performance.now();
    try {
      const ended = await end(session, { windowMs: plan.windowMs[table], limit, cursor });
      const tookMs = performance.now() - startedAt;
      return {
        after: progressAfter(before, ended, nextBatchRows(limit, tookMs, plan.pace)),
        batch: { table, rows: ended.rows, tookMs },
      };
    } catch (error) {
      if (databaseFault(error) !== 'retryable' || failures + 1 === MAX_FAILURES) throw error;
      limit = nextBatchRows(limit, 'failed', plan.pace);
      await hooks.pause(Math.max(plan.pauseMs, performance.now() - startedAt));
    }
  }
}

function progressAfter(
  before: TableProgress,
  { rows, more, through, until, cursor, remark }: Awaited<ReturnType<EndOldRows>>,
  batchRows: number,
): TableProgress {
  return {
    ...before,
    rows: before.rows + rows,
    batches: before.batches + 1,
    batchRows,
    ...(through === undefined ? {} : { through }),
    until,
    ...(cursor === undefined ? {} : { cursor }),
    done: !more,
    ...(remark === undefined ? {} : { remark }),
  };
}
