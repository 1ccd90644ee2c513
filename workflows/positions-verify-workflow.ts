import { continueAsNew, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../activities';
import type { VerifyPage, VerifyProgress } from '../src/contracts/maintenance';

const { verifyPositions } = proxyActivities<MaintenanceActivities>({
  startToCloseTimeout: '1 hour',
  scheduleToCloseTimeout: '6 hours',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '2 seconds', maximumInterval: '5 minutes' },
});

/** Of one run, so that its history stays short; the next run goes on. */
const MAX_PAGES_PER_RUN = 100;

const NOTHING_YET: VerifyProgress = { positions: 0, differing: 0, differences: [] };

/**
 * Folds every position again from its fills, page by page, and tells what differs. Nothing is changed by it; a
 * difference is for a person. Started by its schedule, every night.
 */
export async function positionsVerifyWorkflow(soFar: VerifyProgress = NOTHING_YET): Promise<VerifyPage> {
  let page: VerifyPage = { ...soFar, done: false };
  for (let pages = 0; pages < MAX_PAGES_PER_RUN && !page.done; pages += 1) {
    setCurrentDetails(told(page));
    page = await verifyPositions(page);
  }
  setCurrentDetails(told(page));
  return page.done ? page : continueAsNew<typeof positionsVerifyWorkflow>(page);
}

function told({ positions, differing, after, done }: VerifyPage): string {
  const where = after === undefined ? '' : `, up to ${after.symbol} of ${after.accountId}`;
  return `${done ? 'done' : 'going on'}: **${differing} differ** of ${positions} positions${where}`;
}
