import { Worker } from '@temporalio/worker';
import type { Activities } from '../../activities';
import { workerOptions, type WorkerParts } from './worker-parts';

export interface OrderWorkerOptions extends WorkerParts<Activities> {
  /** Connections of the pool that the activities share. */
  readonly poolSize: number;
}

/** Workflows kept in memory between their tasks; one that falls out is replayed from its history. */
const MAX_CACHED_WORKFLOWS = 2_000;
const MAX_WORKFLOW_TASKS = 100;

/** The worker of orders and late executions: the same in order-api and in order-worker. */
export async function createOrderWorker(options: OrderWorkerOptions): Promise<Worker> {
  // Local and regular activities share one pool: together they never wait for a connection.
  const slots = Math.max(1, Math.floor(options.poolSize / 2));
  return Worker.create({
    ...workerOptions(options),
    maxConcurrentLocalActivityExecutions: slots,
    maxConcurrentActivityTaskExecutions: slots,
    maxConcurrentWorkflowTaskExecutions: MAX_WORKFLOW_TASKS,
    maxCachedWorkflows: MAX_CACHED_WORKFLOWS,
  });
}
