import type { NativeConnection, Worker, WorkerOptions } from '@temporalio/worker';
import type { Metrics } from '../observability/metrics';
import { countActivityAttempts } from './activity-metrics';

/** What every worker is made of, whatever it runs. */
export interface WorkerParts<A extends object> {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly workflowBundlePath: string;
  readonly activities: A;
  readonly metrics: Metrics;
  readonly shutdownGraceMs: number;
  readonly shutdownForceMs: number;
}

/** The options of a worker but for its slots, which depend on what it runs. */
export function workerOptions<A extends object>(parts: WorkerParts<A>): WorkerOptions {
  return {
    connection: parts.connection,
    namespace: parts.namespace,
    taskQueue: parts.taskQueue,
    workflowBundle: { codePath: parts.workflowBundlePath },
    activities: parts.activities,
    interceptors: { activity: [countActivityAttempts(parts.metrics)] },
    shutdownGraceTime: parts.shutdownGraceMs,
    shutdownForceTime: parts.shutdownForceMs,
  };
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
