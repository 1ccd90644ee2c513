import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import type { Activities } from '../../activities';
import { createMetrics } from '../../src/observability/metrics';
import { createOrderWorker } from '../../src/temporal/order-worker';
import { workflowBundlePath } from '../../src/temporal/workflow-bundle';
import { serverAddress } from './environment';
import { runningWorkers } from './test-worker';

let installed = false;

/** A real server, a task queue of this test's own, and activities that the test decides about. */
export interface TemporalHarness {
  readonly client: Client;
  readonly taskQueue: string;
  /** Starts a worker; `stop` shuts it down and waits for it. */
  readonly startWorker: (activities: Activities) => Promise<RunningWorker>;
  readonly close: () => Promise<void>;
}

export interface RunningWorker {
  readonly worker: Worker;
  readonly stop: () => Promise<void>;
}

export async function connectHarness(): Promise<TemporalHarness> {
  if (!installed) {
    Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
    installed = true;
  }
  const connection = await NativeConnection.connect({ address: serverAddress('TEMPORAL_ADDRESS') });
  const taskQueue = `test-${randomUUID()}`;
  const workers = runningWorkers();
  return {
    client: new Client({ connection }),
    taskQueue,
    startWorker: async (activities) => {
      const worker = await createOrderWorker({
        connection,
        namespace: 'default',
        taskQueue,
        workflowBundlePath: workflowBundlePath(),
        activities,
        poolSize: 16,
        shutdownGraceMs: 1_000,
        metrics: createMetrics(),
        shutdownForceMs: 5_000,
      });
      return { worker, ...workers.run(worker) };
    },
    close: async () => {
      await workers.stopAll();
      await connection.close();
    },
  };
}
