import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import { findProcessed } from '../../src/db/processed-events';
import { findSettled } from '../../src/db/settled-events';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { executionIdentityText, type Execution } from '../../src/domain/execution';
import { executionContentHash } from '../../src/domain/execution-hash';
import { createDatabaseOf, DEDUP_LAYOUTS, noonOfDay } from '../support/dedup-layouts';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { accountRows } from '../support/rows';
import type { TestDatabase } from '../support/test-database';
import { waitFor } from '../support/wait-for';

// Days on which the partitioned layout keeps events in different places: dropped or never there, before the
// conversion, with a partition of its own, and beyond the last of them.
const STAMPS = [
  '1970-01-01T00:00:00Z',
  noonOfDay(-40),
  noonOfDay(0),
  noonOfDay(3),
  noonOfDay(60),
  '9999-12-31T23:59:59Z',
];
const PAIRS = STAMPS.flatMap((first, at) => STAMPS.slice(at + 1).map((second) => [first, second] as const));

describe.each(DEDUP_LAYOUTS)('dedup on the %s layout', (layout) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabaseOf(layout);
  });
  afterAll(async () => {
    await database.drop();
  });

  const anOpenedOrder = async (): Promise<OpenOrderCommand> => {
    const command = anOpenOrder({ quantity: '1000' });
    await openOrder(database.pool, command, {});
    return command;
  };
  const apply = async ({ request }: OpenOrderCommand, ...executions: Execution[]) => {
    const { accountId, clientOrderId } = request;
    const { verdicts } = await applyExecutions(database.pool, { accountId, clientOrderId, executions });
    return verdicts.map(({ verdict }) => verdict);
  };
  const rowsOf = ({ request }: OpenOrderCommand) => accountRows(database.pool, request.accountId);
  const dedupRows = async ({ executionId }: Execution) =>
    (await database.pool.query('select from processed_events where event_id = $1', [executionId])).rowCount;

  test.each(STAMPS)(
    'an event stamped %s is applied once, and its repeat is a duplicate',
    async (executedAt) => {
      const command = await anOpenedOrder();
      const executions = [
        anExecutionOf(command, 'NEW', { executedAt }),
        anExecutionOf(command, 'FILL', { executedAt }),
      ];
      expect(await apply(command, ...executions)).toEqual(['applied', 'applied']);
      const before = await rowsOf(command);
      expect(await apply(command, ...executions)).toEqual(['duplicate', 'duplicate']);
      expect(await rowsOf(command)).toEqual(before);
    },
  );

  test('an event that comes again with other content is a conflict', async () => {
    const command = await anOpenedOrder();
    const fill = anExecutionOf(command, 'FILL');
    await apply(command, fill);
    expect(await apply(command, { ...fill, quantity: '2' })).toEqual(['conflict']);
    expect(await rowsOf(command)).toMatchObject({ positions: [{ quantity: '1' }], fills: [{}] });
  });

  // https://github.com/edictum-ai/edictum-console/issues/87
  test.each(PAIRS)(
    'an event of %s that comes again stamped %s is a conflict, not a new event',
    async (first, second) => {
      const command = await anOpenedOrder();
      for (const type of ['FILL', 'CANCELLED'] as const) {
        const event = anExecutionOf(command, type, { executedAt: first });
        expect(await apply(command, event)).toEqual(['applied']);
        expect(await apply(command, { ...event, executedAt: second })).toEqual(['conflict']);
        expect(await apply(command, event)).toEqual(['duplicate']);
        expect(await dedupRows(event)).toBe(1);
      }
      expect(await rowsOf(command)).toMatchObject({ positions: [{ quantity: '1' }], fills: [{}] });
    },
  );

  test('an event with two stamps in one batch is applied with the first', async () => {
    const command = await anOpenedOrder();
    const fill = anExecutionOf(command, 'FILL', { executedAt: noonOfDay(0) });
    const again = { ...fill, executedAt: noonOfDay(3) };
    expect((await apply(command, fill, again)).toSorted()).toEqual(['applied', 'conflict']);
    expect(await dedupRows(fill)).toBe(1);
  });

  test('one identity under many stamps on many connections at once is applied by one of them', async () => {
    for (let round = 0; round < 10; round += 1) {
      // Different orders, so that no lock on the order makes them take turns.
      const commands = await Promise.all(STAMPS.map(() => anOpenedOrder()));
      const executionId = `race-${round}`;
      const verdicts = await Promise.all(
        commands.map((command, at) =>
          apply(command, anExecutionOf(command, 'NEW', { executionId, executedAt: STAMPS[at]! })),
        ),
      );
      expect(verdicts.flat().toSorted()).toEqual([
        'applied',
        ...Array<string>(STAMPS.length - 1).fill('conflict'),
      ]);
    }
  });

  test.each(['commits', 'aborts'] as const)(
    'an event whose other stamp is being applied waits, until that one %s',
    async (end) => {
      const [first, second] = [await anOpenedOrder(), await anOpenedOrder()];
      const event = anExecutionOf(first, 'NEW', { executedAt: noonOfDay(0) });
      const other = anExecutionOf(second, 'NEW', {
        executionId: event.executionId,
        executedAt: noonOfDay(3),
      });
      const verdicts: string[] = [];
      const applying = applyExecutions(
        database.pool,
        {
          accountId: first.request.accountId,
          clientOrderId: first.request.clientOrderId,
          executions: [event],
        },
        {
          beforeCommit: async () => {
            void apply(second, other).then((them) => verdicts.push(...them));
            await waitFor('the other one waits for a lock', async () => (await waitingBackends()) === 1);
            expect(verdicts).toEqual([]);
            if (end === 'aborts') throw new Error('the power is gone');
          },
        },
      );
      if (end === 'aborts') await expect(applying).rejects.toThrow('the power is gone');
      else await applying;
      await waitFor('the other one has its verdict', () => verdicts.length === 1);
      expect(verdicts).toEqual([end === 'commits' ? 'conflict' : 'applied']);
      expect(await dedupRows(event)).toBe(1);
    },
  );

  const waitingBackends = async () => {
    const { rowCount } = await database.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rowCount;
  };

  test('batches that share events in any order never deadlock, whatever their stamps', async () => {
    for (let round = 0; round < 10; round += 1) {
      const ids = Array.from({ length: 30 }, (_, at) => `shared-${round}-${at}`);
      const commands = await Promise.all(Array.from({ length: 8 }, () => anOpenedOrder()));
      const verdicts = await Promise.all(
        commands.map((command, at) => {
          const events = ids.map((executionId, id) =>
            anExecutionOf(command, 'NEW', { executionId, executedAt: STAMPS[(id + at) % STAMPS.length]! }),
          );
          return apply(command, ...(at % 2 === 0 ? events : events.toReversed()));
        }),
      );
      expect(verdicts.flat().filter((verdict) => verdict === 'applied')).toHaveLength(ids.length);
      expect(verdicts.flat().filter((verdict) => verdict === 'conflict')).toHaveLength(7 * ids.length);
    }
  });

  test.each(STAMPS)(
    'a fill stamped %s whose dedup row was purged is outside the window',
    async (executedAt) => {
      const command = await anOpenedOrder();
      const fill = anExecutionOf(command, 'FILL', { executedAt });
      await apply(command, fill);
      const before = await rowsOf(command);
      await database.pool.query('delete from processed_events where event_id = $1', [fill.executionId]);
      expect(await apply(command, fill)).toEqual(['outside_window']);
      expect(await rowsOf(command)).toEqual(before);
      // The repeat has its row again: the next one is met by the first line.
      expect(await apply(command, fill)).toEqual(['duplicate']);
    },
  );

  test('the looks before the transaction find an event by its identity alone', async () => {
    const command = await anOpenedOrder();
    const events = STAMPS.map((executedAt) => anExecutionOf(command, 'NEW', { executedAt }));
    await apply(command, ...events);
    const unknown = anExecutionOf(command, 'NEW');
    const restamped = { ...events[0]!, executedAt: noonOfDay(1) };
    const found = await findProcessed(database.pool, [...events, unknown, restamped]);
    expect(found).toEqual(
      new Map(events.map((event) => [executionIdentityText(event), executionContentHash(event)])),
    );
    const contents = [...events, unknown, restamped].map((execution) => ({
      execution,
      contentHash: executionContentHash(execution),
    }));
    const settled = await findSettled(database.pool, contents);
    expect(contents.filter((content) => settled.has(content))).toEqual(contents.slice(0, events.length));
  });
});
