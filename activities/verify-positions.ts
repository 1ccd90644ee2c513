import { heartbeat, sleep } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { FoundDifference, VerifyPage, VerifyProgress } from '../src/contracts/maintenance';
import type { Pool } from '../src/db/pool';
import { verifyPositionPage } from '../src/db/verify-positions';
import type { Metrics } from '../src/observability/metrics';
import { activityFailure } from './failures';

export interface VerifyDependencies {
  readonly pool: Pool;
  readonly metrics: Metrics;
  /** How many positions one call looks at. */
  readonly pagePositions: number;
}

/** How many differences are told one by one; of the rest, the number. */
const MAX_TOLD_DIFFERENCES = 100;
/** Folding a position may take longer than the heartbeat's timeout; each of its statements has one of its own. */
const HEARTBEAT_INTERVAL_MS = 5_000;

/**
 * Folds one page of positions again from their fills, and adds what it found to what was found so far. Nothing is
 * changed. The call that reaches the end sets the metrics.
 */
export async function verifyPositions(deps: VerifyDependencies, soFar: VerifyProgress): Promise<VerifyPage> {
  const page = pageAfter(soFar);
  const beating = setInterval(() => {
    heartbeat(page.told());
  }, HEARTBEAT_INTERVAL_MS);
  try {
    const after = await verifyPositionPage(
      deps.pool,
      { after: soFar.after, limit: deps.pagePositions },
      (_key, differences) => {
        page.add(differences);
      },
    );
    // A worker that stops, or an operator who cancels, ends the run between two pages.
    await sleep(0);
    const told = page.told();
    if (after !== undefined) return { ...told, after, done: false };
    record(deps.metrics, told);
    return { ...told, done: true };
  } catch (error) {
    throw error instanceof CancelledFailure
      ? error
      : activityFailure(error, 'folding positions again from their fills');
  } finally {
    clearInterval(beating);
  }
}

function pageAfter(soFar: VerifyProgress): {
  readonly add: (differences: readonly FoundDifference[]) => void;
  readonly told: () => Omit<VerifyProgress, 'after'>;
} {
  let { positions, differing } = soFar;
  const differences = [...soFar.differences];
  return {
    add: (found) => {
      positions += 1;
      if (found.length > 0) differing += 1;
      differences.push(...found.slice(0, MAX_TOLD_DIFFERENCES - differences.length));
    },
    told: () => ({ positions, differing, differences }),
  };
}

function record(metrics: Metrics, { differing }: Omit<VerifyProgress, 'after'>): void {
  metrics.positionsDiffering.set(differing);
  metrics.positionsVerifiedTimestamp.setToCurrentTime();
  metrics.positionsVerifications.inc({ outcome: differing === 0 ? 'equal' : 'differing' });
}
