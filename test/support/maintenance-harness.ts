import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { MaintenanceActivities, MaintenanceDependencies } from '../../activities';
import type { Pool } from '../../src/db/pool';
import type { TopicRetention } from '../../src/domain/dedup-window';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import { createMaintenanceWorker } from '../../src/temporal/maintenance-worker';
import { workflowBundlePath } from '../../src/temporal/workflow-bundle';
import { aPlan, DAY_MS, WINDOW_MS } from './dedup-rows';
import { serverAddress } from './environment';
import { runningWorkers } from './test-worker';

/** A real server, a task queue of this test's own, and workers of the scheduled workflows. */
export interface MaintenanceHarness {
  readonly client: Client;
  readonly taskQueue: string;
  startWorker(activities: MaintenanceActivities): Promise<{ readonly stop: () => Promise<void> }>;
  /** Those that a test has left running. */
  stopWorkers(): Promise<void>;
  close(): Promise<void>;
}

export async function connectMaintenance(): Promise<MaintenanceHarness> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const connection = await NativeConnection.connect({ address: serverAddress('TEMPORAL_ADDRESS') });
  const taskQueue = `test-maintenance-${randomUUID()}`;
  const workers = runningWorkers();
  return {
    client: new Client({ connection }),
    taskQueue,
    startWorker: async (activities) => {
      const worker = await createMaintenanceWorker({
        connection,
        namespace: 'default',
        taskQueue,
        workflowBundlePath: workflowBundlePath(),
        activities,
        metrics: createMetrics(),
        shutdownGraceMs: 500,
        shutdownForceMs: 5_000,
      });
      return workers.run(worker);
    },
    stopWorkers: workers.stopAll,
    close: () => connection.close(),
  };
}

export function aTopic(topic: string, change: Partial<TopicRetention> = {}): TopicRetention {
  return { topic, retentionMs: 7 * DAY_MS, retentionBytes: -1, deletesByTime: true, ...change };
}

/** What the activities are made of, on a broker that keeps messages for seven days. */
export function maintenanceDependencies(
  pool: Pool,
  change: Partial<MaintenanceDependencies> = {},
): MaintenanceDependencies {
  return {
    pool,
    metrics: createMetrics(),
    logger: silentLogger(),
    windowMs: WINDOW_MS,
    readRetention: () => Promise.resolve([aTopic('executions'), aTopic('executions.dlq')]),
    session: { lockTimeoutMs: 500, statementTimeoutMs: 5_000 },
    plan: aPlan(),
    pagePositions: 500,
    ...change,
  };
}
