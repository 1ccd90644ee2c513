import { randomUUID } from 'node:crypto';
import { createMaintenanceActivities, type MaintenanceDependencies } from '../../activities';
import type { VerifyPage } from '../../src/contracts/maintenance';
import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import { verifyPositions } from '../../src/db/verify-positions';
import type { positionsVerifyWorkflow } from '../../workflows';
import {
  connectMaintenance,
  maintenanceDependencies,
  type MaintenanceHarness,
} from '../support/maintenance-harness';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { accountRows } from '../support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

describe('the verification of positions', () => {
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

  /** One fill for each symbol, on one account. */
  const book = async (accountId: string, symbols: readonly string[]): Promise<void> => {
    for (const symbol of symbols) {
      const command = anOpenOrder({ accountId, symbol });
      await openOrder(database.pool, command, {});
      const { clientOrderId } = command.request;
      const executions = [anExecutionOf(command, 'FILL', { quantity: '2', price: '1.25' })];
      await applyExecutions(database.pool, { accountId, clientOrderId, executions });
    }
  };
  const run = async (change: Partial<MaintenanceDependencies> = {}) => {
    const deps = maintenanceDependencies(database.pool, change);
    await harness.startWorker(createMaintenanceActivities(deps));
    const handle = await harness.client.workflow.start<typeof positionsVerifyWorkflow>(
      'positionsVerifyWorkflow',
      { taskQueue: harness.taskQueue, workflowId: `verify-${randomUUID()}` },
    );
    return { page: await handle.result(), handle, deps };
  };
  const gauge = async (
    { metrics }: MaintenanceDependencies,
    name: 'positionsDiffering' | 'positionsVerifiedTimestamp' | 'positionsVerifications',
  ): Promise<unknown[]> =>
    (await metrics[name].get()).values.map(({ value, labels }) => ({ value, ...labels }));

  const SYMBOLS = ['A', 'B', 'C', 'D', 'E', 'F', 'G'];

  test('of positions that are what their fills give finds nothing, and sets the metrics', async () => {
    await book('acme', SYMBOLS);
    const { page, deps } = await run();
    expect(page).toEqual({ positions: 7, differing: 0, differences: [], done: true });
    expect(await gauge(deps, 'positionsDiffering')).toEqual([{ value: 0 }]);
    expect(await gauge(deps, 'positionsVerifications')).toEqual([{ outcome: 'equal', value: 1 }]);
    const [{ value }] = (await gauge(deps, 'positionsVerifiedTimestamp')) as [{ value: number }];
    expect(Math.abs(value - Date.now() / 1_000)).toBeLessThan(60);
  });

  test('goes page by page through the positions of all accounts, each once', async () => {
    await book('acme', SYMBOLS);
    await book('bravo', SYMBOLS);
    const { page, handle } = await run({ pagePositions: 3 });
    expect(page).toMatchObject({ positions: 14, differing: 0, done: true });
    const { events } = await handle.fetchHistory();
    const calls = events?.filter(
      ({ activityTaskScheduledEventAttributes }) => activityTaskScheduledEventAttributes,
    );
    expect(calls).toHaveLength(5);
  });

  test('of very many positions is handed from run to run, so that no history grows without end', async () => {
    const seen: (string | undefined)[] = [];
    await harness.startWorker({
      purgeDedupRows: () => Promise.reject(new Error('not part of this test')),
      verifyPositions: ({ positions, after }) => {
        seen.push(after?.symbol);
        const told = { positions: positions + 1, differing: 0, differences: [] };
        if (told.positions === 230) return Promise.resolve({ ...told, done: true });
        return Promise.resolve({
          ...told,
          after: { accountId: 'acme', symbol: `S${told.positions}` },
          done: false,
        });
      },
    });
    const handle = await harness.client.workflow.start<typeof positionsVerifyWorkflow>(
      'positionsVerifyWorkflow',
      { taskQueue: harness.taskQueue, workflowId: `verify-${randomUUID()}` },
    );
    expect(await handle.result()).toMatchObject({ positions: 230, done: true });
    expect(seen).toEqual([undefined, ...Array.from({ length: 229 }, (_, index) => `S${index + 1}`)]);
    const first = harness.client.workflow.getHandle(handle.workflowId, handle.firstExecutionRunId);
    const { status, historyLength } = await first.describe();
    expect(status.name).toBe('CONTINUED_AS_NEW');
    expect(historyLength).toBeLessThan(1_000);
  });

  test('tells what differs, with both figures, and changes nothing', async () => {
    await book('acme', SYMBOLS);
    await database.pool.query("update positions set quantity = 3 where symbol = 'C'");
    const before = await accountRows(database.pool, 'acme');
    const { page, deps } = await run({ pagePositions: 3 });
    expect(page).toMatchObject({ positions: 7, differing: 1, done: true });
    expect(page.differences).toEqual([
      {
        accountId: 'acme',
        symbol: 'C',
        where: 'position',
        stored: 'quantity 3, average 1.25, realised 0',
        folded: 'quantity 2, average 1.25, realised 0',
      },
    ]);
    expect(await accountRows(database.pool, 'acme')).toEqual(before);
    expect(await gauge(deps, 'positionsDiffering')).toEqual([{ value: 1 }]);
    expect(await gauge(deps, 'positionsVerifications')).toEqual([{ outcome: 'differing', value: 1 }]);
  });

  test('finds a position whose row somebody has deleted', async () => {
    await book('acme', SYMBOLS);
    await database.pool.query("delete from position_changes where symbol in ('A', 'D', 'G')");
    await database.pool.query("delete from positions where symbol in ('A', 'D', 'G')");
    const { page } = await run({ pagePositions: 2 });
    expect(page).toMatchObject({ positions: 7, differing: 3 });
    expect(page.differences.map(({ symbol, stored }) => [symbol, stored])).toEqual([
      ['A', 'none'],
      ['D', 'none'],
      ['G', 'none'],
    ]);
  });

  test('lists the first differences, and counts all', async () => {
    const symbols = Array.from({ length: 130 }, (_, index) => `S${index}`);
    await book('acme', symbols);
    await database.pool.query('update positions set quantity = quantity + 1');
    const { page } = await run({ pagePositions: 50 });
    expect(page).toMatchObject({ positions: 130, differing: 130 });
    expect(page.differences).toHaveLength(100);
  });

  test('by the command line gives the same, also for one account', async () => {
    await book('acme', SYMBOLS);
    await book('bravo', ['A']);
    await database.pool.query("delete from position_changes where symbol = 'A'");
    await database.pool.query("delete from positions where symbol = 'A'");
    const differing: VerifyPage['differences'][number][] = [];
    expect(await verifyPositions(database.pool, undefined, (each) => differing.push(each))).toBe(8);
    expect(await verifyPositions(database.pool, 'bravo', (each) => differing.push(each))).toBe(1);
    expect(await verifyPositions(database.pool, 'nobody', (each) => differing.push(each))).toBe(0);
    expect(differing.map(({ accountId }) => accountId)).toEqual(['acme', 'bravo', 'bravo']);
  });
});
