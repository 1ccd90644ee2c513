import { randomUUID } from 'node:crypto';
import type { WorkflowFailedError } from '@temporalio/client';
import { type WorkflowHandle } from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { createMaintenanceActivities, type MaintenanceDependencies } from '../../activities';
import { openPurgeSession } from '../../src/db/purge-session';
import { createMetrics } from '../../src/observability/metrics';
import type { dedupCleanupWorkflow } from '../../workflows';
import { aPlan, countProcessedEvents, DAY_MS, insertProcessedEvents, WINDOW_MS } from '../support/dedup-rows';
import {
  aTopic,
  connectMaintenance,
  maintenanceDependencies,
  type MaintenanceHarness,
} from '../support/maintenance-harness';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { waitFor } from '../support/wait-for';

type Cleanup = WorkflowHandle<typeof dedupCleanupWorkflow>;

describe('the cleanup', () => {
  let database: TestDatabase;
  let harness: MaintenanceHarness;
  beforeAll(async () => {
    harness = await connectMaintenance();
  });
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await harness.stopWorkers();
    await database.drop();
  });
  afterAll(async () => {
    await harness.close();
  });

  const start = (): Promise<Cleanup> =>
    harness.client.workflow.start<typeof dedupCleanupWorkflow>('dedupCleanupWorkflow', {
      taskQueue: harness.taskQueue,
      workflowId: `cleanup-${randomUUID()}`,
    });

  /** Runs a cleanup to its end, with a worker whose activities are made of this. */
  const run = async (change: Partial<MaintenanceDependencies> = {}) => {
    const deps = maintenanceDependencies(database.pool, change);
    const worker = await harness.startWorker(createMaintenanceActivities(deps));
    try {
      const handle = await start();
      const failure = await handle.result().then(
        () => undefined,
        (error: unknown) => (error as WorkflowFailedError).cause as ApplicationFailure,
      );
      return { handle, failure, result: failure === undefined ? await handle.result() : undefined, deps };
    } finally {
      await worker.stop();
    }
  };
  const metric = async (
    { metrics }: MaintenanceDependencies,
    name: 'dedupGuardRefusing' | 'dedupPurgeRuns' | 'dedupRowsPurged',
  ): Promise<unknown> =>
    (await metrics[name].get()).values.map(({ value, labels }) => ({ value, ...labels }));

  test('says how many rows went, how far it is, and why it stopped', async () => {
    await insertProcessedEvents(database.pool, 250, WINDOW_MS);
    const { result, deps } = await run();
    expect(result).toMatchObject({
      stopped: 'done',
      why: 'nothing past its window is left',
      window: 'window 30 d, retention of executions 7 d, hold of executions.dlq 7 d',
      tables: [
        { table: 'processed_events', rows: 250, batches: 3 },
        { table: 'idempotency_keys', rows: 0, batches: 1 },
      ],
    });
    expect(await metric(deps, 'dedupRowsPurged')).toEqual([
      { table: 'processed_events', value: 250 },
      { table: 'idempotency_keys', value: 0 },
    ]);
    expect(await metric(deps, 'dedupGuardRefusing')).toEqual([{ value: 0 }]);
  });

  test('stops at its bound, and says what is left to the next run', async () => {
    await insertProcessedEvents(database.pool, 250, WINDOW_MS);
    const { result, deps } = await run({ plan: aPlan({ maxBatches: 2 }) });
    expect(result).toMatchObject({ stopped: 'bounded', tables: [{ rows: 200 }, { rows: 0 }] });
    expect(result?.why).toContain('processed_events');
    expect(await metric(deps, 'dedupPurgeRuns')).toEqual([{ outcome: 'bounded', value: 1 }]);
  });

  describe('refuses to delete anything', () => {
    test.each([
      [
        'when the window is shorter than retention and hold',
        [aTopic('executions', { retentionMs: 24 * DAY_MS }), aTopic('executions.dlq')],
        ['at least retention plus hold, 31 d', 'window 30 d', 'executions 24 d', 'executions.dlq 7 d'],
      ],
      [
        'when the topic keeps its messages without end',
        [aTopic('executions', { retentionMs: -1 }), aTopic('executions.dlq')],
        ['executions keeps messages without end', 'window 30 d', '(-1)', 'executions.dlq 7 d'],
      ],
      [
        'when the topic is bounded by size only',
        [aTopic('executions', { retentionMs: -1, retentionBytes: 1_000 }), aTopic('executions.dlq')],
        ['executions is bounded by size only', 'window 30 d', 'executions.dlq 7 d'],
      ],
      [
        'when the topic is only compacted',
        [aTopic('executions', { deletesByTime: false }), aTopic('executions.dlq')],
        ['executions is only compacted', 'window 30 d', 'executions.dlq 7 d'],
      ],
      [
        'when the dead letters are kept without end',
        [aTopic('executions'), aTopic('executions.dlq', { retentionMs: -1 })],
        ['executions.dlq keeps messages without end', 'window 30 d', 'executions 7 d'],
      ],
    ] as const)('%s', async (_when, retention, words) => {
      await insertProcessedEvents(database.pool, 10, WINDOW_MS);
      const logged: unknown[] = [];
      const error = jest.fn((fields: unknown) => void logged.push(fields));
      const deps = maintenanceDependencies(database.pool);
      const { failure, deps: used } = await run({
        readRetention: () => Promise.resolve(retention),
        logger: Object.assign(Object.create(deps.logger) as typeof deps.logger, { error }),
      });
      expect(failure).toMatchObject({ type: 'DedupWindowUnsafe', nonRetryable: true });
      for (const word of words) expect(failure?.message).toContain(word);
      expect(await countProcessedEvents(database.pool)).toBe(10);
      expect(await metric(used, 'dedupGuardRefusing')).toEqual([{ value: 1 }]);
      expect(await metric(used, 'dedupPurgeRuns')).toEqual([{ outcome: 'refused', value: 1 }]);
      expect(logged).toHaveLength(1);
    });

    test('while the broker does not answer, and goes on when it does', async () => {
      await insertProcessedEvents(database.pool, 10, WINDOW_MS);
      let answers = false;
      const metrics = createMetrics();
      const deps = maintenanceDependencies(database.pool, {
        metrics,
        readRetention: () =>
          answers
            ? Promise.resolve([aTopic('executions'), aTopic('executions.dlq')])
            : Promise.reject(new Error('no broker answers')),
      });
      await harness.startWorker(createMaintenanceActivities(deps));
      const handle = await start();
      await waitFor('the failure to be seen', async () => {
        const { raw } = await handle.describe();
        return raw.pendingActivities?.[0]?.lastFailure?.message?.includes('no broker answers');
      });
      expect(await countProcessedEvents(database.pool)).toBe(10);
      expect((await metrics.dedupGuardRefusing.get()).values).toEqual([]);
      answers = true;
      expect(await handle.result()).toMatchObject({ stopped: 'done', tables: [{ rows: 10 }, {}] });
    });
  });

  test('two that start at once: one deletes, the other ends and says who holds it', async () => {
    await insertProcessedEvents(database.pool, 500, WINDOW_MS);
    const deps = maintenanceDependencies(database.pool, { plan: aPlan({ pauseMs: 100 }) });
    await harness.startWorker(createMaintenanceActivities(deps));
    const handles = await Promise.all([start(), start()]);
    const results = await Promise.all(handles.map((handle) => handle.result()));
    expect(results.map(({ stopped }) => stopped).toSorted()).toEqual(['done', 'held']);
    const held = results.find(({ stopped }) => stopped === 'held');
    expect(held?.why).toMatch(/^another runner holds it: tekil cleanup .+, backend \d+, since \d{4}-/);
    const done = results.find(({ stopped }) => stopped === 'done');
    expect(done?.tables[0]).toMatchObject({ rows: 500 });
  });

  test('waits for a lock that its own earlier attempt left behind', async () => {
    const deps = maintenanceDependencies(database.pool);
    const handle = await start();
    const earlier = await openPurgeSession(
      database.pool,
      `tekil cleanup ${(await handle.describe()).runId}`,
      deps.session,
    );
    await harness.startWorker(createMaintenanceActivities(deps));
    await waitFor('the failure to be seen', async () => {
      const { raw } = await handle.describe();
      return raw.pendingActivities?.[0]?.lastFailure?.message?.includes('earlier attempt');
    });
    if ('session' in earlier) earlier.session.close();
    expect(await handle.result()).toMatchObject({ stopped: 'done' });
  });

  test('loses its connection, is tried again, and counts what went before', async () => {
    await insertProcessedEvents(database.pool, 300, WINDOW_MS);
    let killed = false;
    const deps = maintenanceDependencies(database.pool, {
      plan: aPlan({ pauseMs: 300 }),
      afterBatch: () => {
        if (killed) return;
        killed = true;
        void database.pool.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'tekil cleanup %'",
        );
      },
    });
    await harness.startWorker(createMaintenanceActivities(deps));
    const result = await (await start()).result();
    expect(result).toMatchObject({ stopped: 'done', tables: [{ rows: 300, batches: 4 }, {}] });
    expect(killed).toBe(true);
  });

  test('is handed to another worker when its own stops in the middle', async () => {
    await insertProcessedEvents(database.pool, 1_000, WINDOW_MS);
    const deps = maintenanceDependencies(database.pool, { plan: aPlan({ pauseMs: 400 }) });
    const first = await harness.startWorker(createMaintenanceActivities(deps));
    const handle = await start();
    await waitFor('the first batches', async () => (await countProcessedEvents(database.pool)) <= 800);
    await first.stop();
    const left = await countProcessedEvents(database.pool);
    expect(left).toBeGreaterThan(0);
    await harness.startWorker(createMaintenanceActivities(maintenanceDependencies(database.pool)));
    expect(await handle.result()).toMatchObject({ stopped: 'done', tables: [{ rows: 1_000 }, {}] });
  });

  test('shows while it runs how far it is', async () => {
    await insertProcessedEvents(database.pool, 300, WINDOW_MS);
    const deps = maintenanceDependencies(database.pool, { plan: aPlan({ pauseMs: 500 }) });
    await harness.startWorker(createMaintenanceActivities(deps));
    const handle = await start();
    const shown = await waitFor('a heartbeat', async () => {
      const { raw } = await handle.describe();
      const payload = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0]?.data;
      return payload != null && (JSON.parse(Buffer.from(payload).toString()) as unknown);
    });
    expect(shown).toMatchObject({ tables: [{ table: 'processed_events' }, { table: 'idempotency_keys' }] });
    await handle.result();
  });
});
