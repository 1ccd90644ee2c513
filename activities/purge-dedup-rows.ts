import { activityInfo, heartbeat, sleep } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { PurgeProgress, PurgeResult } from '../src/contracts/maintenance';
import type { Pool } from '../src/db/pool';
import { noProgress, runPurge, type CommittedBatch, type PurgePlan } from '../src/db/purge-run';
import {
  openPurgeSession,
  type Holder,
  type PurgeSession,
  type PurgeSessionOptions,
} from '../src/db/purge-session';
import { checkDedupWindow, type DedupWindowDependencies } from './check-dedup-window';
import { activityFailure, step } from './failures';

export interface PurgeDependencies extends DedupWindowDependencies {
  readonly pool: Pool;
  readonly plan: PurgePlan;
  readonly session: PurgeSessionOptions;
  /** Called when a batch is committed; the fault tests end the process here. */
  readonly afterBatch?: (batch: CommittedBatch) => void;
}

/** The type of the failure by which a run refuses to delete. It is final: a person must change a setting. */
export const DEDUP_WINDOW_UNSAFE = 'DedupWindowUnsafe';

/**
 * Deletes dedup rows and idempotency keys that are past their windows, after it has asked the broker whether the window
 * is long enough. One runner at a time; killed anywhere, it goes on where it was.
 * @throws {ApplicationFailure} DedupWindowUnsafe, not retryable, when the window is too short; nothing is deleted then.
 */
export async function purgeDedupRows(deps: PurgeDependencies): Promise<PurgeResult> {
  const { dedupPurgeRuns } = deps.metrics;
  try {
    const window = await safeWindow(deps);
    const result = await purgeAlone(deps, window);
    dedupPurgeRuns.inc({ outcome: result.stopped });
    return result;
  } catch (error) {
    const refused = error instanceof ApplicationFailure && error.type === DEDUP_WINDOW_UNSAFE;
    dedupPurgeRuns.inc({ outcome: refused ? 'refused' : 'failed' });
    throw error;
  }
}

async function safeWindow(deps: PurgeDependencies): Promise<string> {
  const verdict = await step(
    'asking the broker how long it keeps messages; nothing is deleted without it',
    () => checkDedupWindow(deps),
  );
  if (verdict.safe) return verdict.reason;
  throw ApplicationFailure.create({
    type: DEDUP_WINDOW_UNSAFE,
    nonRetryable: true,
    message: `nothing is deleted: ${verdict.reason}`,
    details: [{ code: verdict.code }],
  });
}

async function purgeAlone(deps: PurgeDependencies, window: string): Promise<PurgeResult> {
  const name = `tekil cleanup ${activityInfo().workflowExecution?.runId ?? ''}`;
  const opened = await step('taking the lock of the purge', () =>
    openPurgeSession(deps.pool, name, deps.session),
  );
  if (!('session' in opened)) return held(deps.plan, opened.heldBy, name);
  try {
    const progress = await purge(deps, opened.session);
    return { ...progress, ...conclusion(progress), window };
  } finally {
    opened.session.close();
  }
}

async function purge(deps: PurgeDependencies, session: PurgeSession): Promise<PurgeProgress> {
  const { metrics, plan } = deps;
  const start = (activityInfo().heartbeatDetails as PurgeProgress | undefined) ?? noProgress(plan);
  let latest = start;
  heartbeat(latest);
  try {
    return await runPurge(session, plan, start, {
      onBatch: (progress, batch) => {
        metrics.dedupRowsPurged.inc({ table: batch.table }, batch.rows);
        metrics.dedupPurgeBatchSeconds.observe(batch.tookMs / 1_000);
        latest = progress;
        heartbeat(latest);
        deps.afterBatch?.(batch);
      },
      pause: (ms) => {
        // Also between the attempts at a batch that fails, which may take long enough to look dead.
        heartbeat(latest);
        return sleep(ms);
      },
    });
  } catch (error) {
    // A worker that stops, or an operator who cancels, ends the run between two batches; that is not a failure.
    throw error instanceof CancelledFailure
      ? error
      : activityFailure(error, 'deleting what is past its window');
  }
}

/** A lock that an earlier attempt of this very run left behind is soon gone: that is no end, it is tried again. */
function held(plan: PurgePlan, holder: Holder | undefined, name: string): PurgeResult {
  if (holder?.name === name) {
    throw ApplicationFailure.create({
      type: 'PurgeHeld',
      message: `an earlier attempt of this run still holds the purge (backend ${holder.pid}); the server ends it soon`,
    });
  }
  const who = holder === undefined ? '' : `: ${holder.name}, backend ${holder.pid}, since ${holder.since}`;
  return { ...noProgress(plan), stopped: 'held', why: `another runner holds it${who}` };
}

function conclusion({ tables }: PurgeProgress): Pick<PurgeResult, 'stopped' | 'why'> {
  const open = tables.filter(({ done }) => !done).map(({ table }) => table);
  if (open.length === 0) return { stopped: 'done', why: 'nothing past its window is left' };
  return {
    stopped: 'bounded',
    why: `the bound of one run is met; the next goes on with ${open.join(' and ')}`,
  };
}
