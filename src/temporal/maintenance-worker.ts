import { Worker, type NativeConnection } from '@temporalio/worker';
import type { MaintenanceActivities } from '../../activities';
import type { Metrics } from '../observability/metrics';
import { countActivityAttempts } from './activity-metrics';

export interface MaintenanceWorkerOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly workflowBundlePath: string;
  readonly activities: MaintenanceActivities;
  readonly metrics: Metrics;
  readonly shutdownGraceMs: number;
  readonly shutdownForceMs: number;
}

/** The cleanup and the verification, and no more of either: each keeps others of its kind out. */
const MAX_ACTIVITIES = 2;
const MAX_CACHED_WORKFLOWS = 10;

/**
 * The worker of the scheduled workflows. They have a task queue, slots and database connections of their own: they run
 * for minutes, and no order ever waits behind one.
 */
export async function createMaintenanceWorker(options: MaintenanceWorkerOptions): Promise<Worker> {
  return Worker.create({
    connection: options.connection,
    namespace: options.namespace,
    taskQueue: options.taskQueue,
    workflowBundle: { codePath: options.workflowBundlePath },
    activities: options.activities,
    interceptors: { activity: [countActivityAttempts(options.metrics)] },
    maxConcurrentActivityTaskExecutions: MAX_ACTIVITIES,
    maxConcurrentWorkflowTaskExecutions: MAX_ACTIVITIES,
    maxCachedWorkflows: MAX_CACHED_WORKFLOWS,
    shutdownGraceTime: options.shutdownGraceMs,
    shutdownForceTime: options.shutdownForceMs,
  });
}
