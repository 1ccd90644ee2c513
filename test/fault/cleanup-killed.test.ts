import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { startPostgres, type PostgresServer } from '../../src/dev/postgres';
import { maintenanceTaskQueue } from '../../src/temporal/schedules';
import type { dedupCleanupWorkflow } from '../../workflows';
import { countProcessedEvents, insertProcessedEvents, WINDOW_MS } from '../support/dedup-rows';
import { startSystem, type TestSystem } from '../support/system';
import { temporalClient, type OperatorClient } from '../support/temporal-client';
import { waitFor } from '../support/wait-for';

const HOUR_MS = 3_600_000;
/** The heartbeat's timeout, and the time in which the server notices. */
const NOTICED_WITHIN_MS = 60_000;

jest.setTimeout(180_000);

describe('a cleanup', () => {
  let dataDir: string;
  let postgres: PostgresServer;
  let operator: OperatorClient;
  const systems: TestSystem[] = [];

  beforeAll(async () => {
    // A server of this test's own: the others must not lose theirs.
    dataDir = mkdtempSync(join(tmpdir(), 'tekil-fault-'));
    postgres = await startPostgres({ dataDir, durable: false });
    process.env['DATABASE_URL'] = postgres.url;
    operator = await temporalClient();
  });
  afterAll(async () => {
    await operator.close();
    for (const system of systems) await system.stop();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const aSystem = async (): Promise<TestSystem> => {
    const system = await startSystem({ services: [], env: { DEDUP_PURGE_BATCH_ROWS: '100' } });
    systems.push(system);
    return system;
  };

  const start = (system: TestSystem): Promise<WorkflowHandle<typeof dedupCleanupWorkflow>> =>
    operator.client.workflow.start<typeof dedupCleanupWorkflow>('dedupCleanupWorkflow', {
      taskQueue: maintenanceTaskQueue(system.taskQueue),
      workflowId: `cleanup-${randomUUID()}`,
    });

  const killAndReplace = async (point: string, left: number): Promise<void> => {
    const system = await aSystem();
    const { pool } = system.database;
    await insertProcessedEvents(pool, 1_000, WINDOW_MS);
    const fresh = await insertProcessedEvents(pool, 50, WINDOW_MS - HOUR_MS);
    const doomed = await system.start(
      'order-worker',
      { TEKIL_TEST_KILL_POINT: point },
      'test/support/killed-cleanup-worker.ts',
    );
    const handle = await start(system);
    expect(await doomed.exited).toBe('SIGKILL');
    // What was committed is gone, what was not is there, and the lock went with the process.
    expect(await countProcessedEvents(pool)).toBe(left + 50);
    const replacement = await system.start('order-worker');
    const result = await handle.result();
    expect(result.stopped).toBe('done');
    expect(await countProcessedEvents(pool)).toBe(50);
    expect(await countProcessedEvents(pool, fresh)).toBe(50);
    expect(await replacement.metric('tekil_dedup_rows_purged_total', { table: 'processed_events' })).toBe(
      left,
    );
    await replacement.stop();
  };

  // Both at once: most of it is the wait until the server misses the heartbeat.
  test('whose process is killed in a batch or between two is finished by another', async () => {
    await Promise.all([killAndReplace('in-a-batch', 900), killAndReplace('between-batches', 800)]);
  });

  test('that loses its database goes on when the database is back', async () => {
    const system = await aSystem();
    await insertProcessedEvents(system.database.pool, 3_000, WINDOW_MS);
    await system.start('order-worker', { DEDUP_PURGE_PAUSE_MS: '200' });
    const handle = await start(system);
    await waitFor(
      'the first batches',
      async () => (await countProcessedEvents(system.database.pool)) < 2_900,
    );
    const { port } = postgres;
    await postgres.kill();
    await waitFor(
      'the failure to be seen',
      async () => {
        const { raw } = await handle.describe();
        const attempt = raw.pendingActivities?.[0]?.attempt ?? 0;
        return attempt > 1;
      },
      NOTICED_WITHIN_MS,
    );
    postgres = await startPostgres({ dataDir, durable: false, port });
    const result = await handle.result();
    expect(result.stopped).toBe('done');
    expect(await countProcessedEvents(system.database.pool)).toBe(0);
    // Counted across the attempts: nothing was deleted twice, and what a heartbeat had told is not forgotten.
    expect(result.tables[0]!.rows).toBeLessThanOrEqual(3_000);
    expect(result.tables[0]!.rows).toBeGreaterThan(2_000);
  });
});
