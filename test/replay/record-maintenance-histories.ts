import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import type { MaintenanceActivities } from '../../activities';
import type { PurgeResult, VerifyPage } from '../../src/contracts/maintenance';
import { connectMaintenance, type MaintenanceHarness } from '../support/maintenance-harness';
import { writeHistory } from './history-file';

/**
 * Records the histories of the scheduled workflows that the replay tests hold the code to. As with those of orders: once
 * for a version that is released, never to make a failing replay pass.
 */
const DONE: PurgeResult = {
  stopped: 'done',
  why: 'nothing past its window is left',
  window: 'window 30 d, retention of executions 7 d, hold of executions.dlq 7 d',
  tables: [
    { table: 'processed_events', rows: 250, batches: 3, batchRows: 100, done: true },
    { table: 'idempotency_keys', rows: 0, batches: 1, batchRows: 100, done: true },
  ],
};

const REFUSED = ApplicationFailure.create({
  type: 'DedupWindowUnsafe',
  nonRetryable: true,
  message: 'nothing is deleted: the window is too short',
});

type Workflow = 'dedupCleanupWorkflow' | 'positionsVerifyWorkflow';

const SHAPES: Readonly<Record<string, { readonly workflow: Workflow } & Partial<MaintenanceActivities>>> = {
  'cleanup-done': { workflow: 'dedupCleanupWorkflow' },
  'cleanup-held': {
    workflow: 'dedupCleanupWorkflow',
    purgeDedupRows: () => Promise.resolve({ stopped: 'held', why: 'another runner holds it', tables: [] }),
  },
  'cleanup-refused': { workflow: 'dedupCleanupWorkflow', purgeDedupRows: () => Promise.reject(REFUSED) },
  'cleanup-retried': {
    workflow: 'dedupCleanupWorkflow',
    purgeDedupRows: failingOnce(() => Promise.resolve(DONE)),
  },
  'verify-pages': { workflow: 'positionsVerifyWorkflow', verifyPositions: pages(3) },
  'verify-one-page': { workflow: 'positionsVerifyWorkflow', verifyPositions: pages(1) },
};

function failingOnce<T>(work: () => Promise<T>): () => Promise<T> {
  let failed = false;
  return () => {
    if (failed) return work();
    failed = true;
    return Promise.reject(new Error('no broker answers'));
  };
}

function pages(count: number): MaintenanceActivities['verifyPositions'] {
  return (soFar): Promise<VerifyPage> => {
    const positions = soFar.positions + 2;
    const told = { positions, differing: 0, differences: [] };
    if (positions === count * 2) return Promise.resolve({ ...told, done: true });
    return Promise.resolve({ ...told, after: { accountId: 'acme', symbol: `S${positions}` }, done: false });
  };
}

async function record(harness: MaintenanceHarness, folder: string, name: string): Promise<void> {
  const { workflow = 'dedupCleanupWorkflow', ...activities } = SHAPES[name] ?? {};
  const { stop } = await harness.startWorker({
    purgeDedupRows: () => Promise.resolve(DONE),
    verifyPositions: pages(1),
    ...activities,
  });
  const handle = await harness.client.workflow.start(workflow, {
    taskQueue: harness.taskQueue,
    workflowId: `recorded-${randomUUID()}`,
  });
  // A refusal is an end like any other.
  await handle.result().catch(() => undefined);
  await stop();
  writeHistory(folder, name, historyToJSON(await handle.fetchHistory()));
}

async function main(): Promise<void> {
  const version = process.argv[2];
  if (version === undefined) throw new Error('name the version: record-maintenance-histories.ts 0.1.0');
  const folder = join(__dirname, 'histories', version);
  mkdirSync(folder, { recursive: true });
  const harness = await connectMaintenance();
  for (const name of Object.keys(SHAPES)) await record(harness, folder, name);
  await harness.close();
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});
