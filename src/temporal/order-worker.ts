import { Worker, type NativeConnection } from '@temporalio/worker';
import type { Activities } from '../../activities';
import type { Metrics } from '../observability/metrics';
import { countActivityAttempts } from './activity-metrics';

export interface OrderWorkerOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly workflowBundlePath: string;
  readonly activities: Activities;
  /** Counts the attempts of activities, when it is given. */
  readonly metrics?: Metrics;
  /** Connections of the pool that the activities share. */
  readonly poolSize: number;
  readonly shutdownGraceMs: number;
  readonly shutdownForceMs: number;
}

/** Workflows kept in memory between their tasks; one that falls out is replayed from its history. */
const MAX_CACHED_WORKFLOWS = 2_000;
const MAX_WORKFLOW_TASKS = 100;

/** The worker of orders and late executions: the same in order-api and in order-worker. */
export async function createOrderWorker(options: OrderWorkerOptions): Promise<Worker> {
  // Local and regular activities share one pool: together they never wait for a connection.
  const slots = Math.max(1, Math.floor(options.poolSize / 2));
  return Worker.create({
    connection: options.connection,
    namespace: options.namespace,
    taskQueue: options.taskQueue,
    workflowBundle: { codePath: options.workflowBundlePath },
    activities: options.activities,
    ...(options.metrics === undefined
      ? {}
      : { interceptors: { activity: [countActivityAttempts(options.metrics)] } }),
    maxConcurrentLocalActivityExecutions: slots,
    maxConcurrentActivityTaskExecutions: slots,
    maxConcurrentWorkflowTaskExecutions: MAX_WORKFLOW_TASKS,
    maxCachedWorkflows: MAX_CACHED_WORKFLOWS,
    shutdownGraceTime: options.shutdownGraceMs,
    shutdownForceTime: options.shutdownForceMs,
  });
}

/** Runs a worker until it is stopped. `fail` hears of an end that nobody asked for. */
export function runWorker(
  worker: Worker,
  fail: (error: unknown) => void,
): { readonly stop: () => Promise<void> } {
  let stopping = false;
  const running = worker.run().then(
    () => {
      if (!stopping) fail(new Error('the worker ended without being asked to'));
    },
    (error: unknown) => {
      if (!stopping) fail(error);
    },
  );
  return {
    stop: async () => {
      stopping = true;
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await running;
    },
  };
}
