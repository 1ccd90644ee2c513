import {
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { MaintenanceActivities } from '../activities';
import type { PurgeResult } from '../src/contracts/maintenance';

const { purgeDedupRows } = proxyActivities<MaintenanceActivities>({
  startToCloseTimeout: '12 minutes',
  // Over before the schedule's next time but one, whatever is down meanwhile.
  scheduleToCloseTimeout: '20 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '2 seconds', maximumInterval: '1 minute' },
});

/**
 * Deletes dedup rows and idempotency keys that are past their windows. Started by its schedule. Its details say how many
 * rows went and why it stopped; while it runs, the heartbeat of its pending activity says how far it is. A window that is
 * too short fails the run with the numbers.
 */
export async function dedupCleanupWorkflow(): Promise<PurgeResult> {
  setCurrentDetails('deleting; the heartbeat of the pending activity says how far it is');
  try {
    const result = await purgeDedupRows();
    setCurrentDetails(told(result));
    return result;
  } catch (error) {
    const cause = error instanceof ActivityFailure ? error.cause : error;
    if (!(cause instanceof ApplicationFailure)) throw error;
    setCurrentDetails(`**stopped**: ${cause.message}`);
    // The reason itself is the failure of the run, not "an activity failed".
    throw ApplicationFailure.create({
      type: cause.type ?? 'CleanupFailed',
      message: cause.message,
      nonRetryable: true,
      cause,
    });
  }
}

function told({ stopped, why, tables, window }: PurgeResult): string {
  const lines = tables.map(({ table, rows, batches, through, until, remark }) => {
    const far = until === undefined ? '' : `, up to ${through ?? until} of ${until}`;
    return `- ${table}: ${rows} rows in ${batches} batches${far}${remark === undefined ? '' : `; ${remark}`}`;
  });
  return [`**${stopped}**: ${why}`, ...lines, ...(window === undefined ? [] : [window])].join('\n');
}
