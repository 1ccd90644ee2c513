import { Worker } from '@temporalio/worker';
import type { MaintenanceActivities } from '../../activities';
import { workerOptions, type WorkerParts } from './worker-parts';

/** The cleanup and the verification, and no more of either: each keeps others of its kind out. */
const MAX_ACTIVITIES = 2;
const MAX_CACHED_WORKFLOWS = 10;

/**
 * The worker of the scheduled workflows. They have a task queue, slots and database connections of their own: they run
 * for minutes, and no order ever waits behind one.
 */
export async function createMaintenanceWorker(parts: WorkerParts<MaintenanceActivities>): Promise<Worker> {
  return Worker.create({
    ...workerOptions(parts),
    maxConcurrentActivityTaskExecutions: MAX_ACTIVITIES,
    maxConcurrentWorkflowTaskExecutions: MAX_ACTIVITIES,
    maxCachedWorkflows: MAX_CACHED_WORKFLOWS,
  });
}
