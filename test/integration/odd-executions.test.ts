import { applyExecutions } from '../../activities/apply-executions';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { openOrder } from '../../src/db/open-order';
import type { Execution } from '../../src/domain/execution';
import type { OrderRequest } from '../../src/domain/order';
import { createMetrics, type Metrics } from '../../src/observability/metrics';
import { countOf } from '../support/execution-bridge';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { accountRows } from '../support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

/** What docs/executions.md promises for executions that do not fit their order: rule, row and metric of each. */
describe('an execution that does not fit its order', () => {
  let database: TestDatabase;
  let metrics: Metrics;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => {
    await database.drop();
  });
  beforeEach(() => {
    metrics = createMetrics();
  });

  const anOpenedOrder = async (change: Partial<OrderRequest> = {}): Promise<OpenOrderCommand> => {
    const command = anOpenOrder(change);
    await openOrder(database.pool, command, {});
    return command;
  };

  /** The activity as the worker runs it. */
  const apply = ({ request: { accountId, clientOrderId } }: OpenOrderCommand, ...executions: Execution[]) =>
    applyExecutions(
      {
        pool: database.pool,
        metrics,
        askGate: notAsked,
        publishCommand: notAsked,
        announceAnswer: notAsked,
      },
      { accountId, clientOrderId, executions },
    );

  const rowsOf = ({ request }: OpenOrderCommand) => accountRows(database.pool, request.accountId);

  const quarantined = async ({ request }: OpenOrderCommand): Promise<unknown[]> => {
    const { rows } = await database.pool.query<object>(
      `select reason, detail, payload, other_payload, times_seen from quarantined_events
       where client_order_id = $1 order by id`,
      [request.clientOrderId],
    );
    return rows;
  };

  // https://github.com/hummingbot/hummingbot/issues/7889
  test('that fills it for more than was ordered is booked, marked and counted once; replays change nothing', async () => {
    const command = await anOpenedOrder({ quantity: '400' });
    const fills = [
      anExecutionOf(command, 'FILL', { quantity: '524' }),
      anExecutionOf(command, 'FILL', { quantity: '138' }),
    ];
    await apply(command, ...fills);
    const booked = await rowsOf(command);
    expect(booked).toMatchObject({
      orders: [{ overfilled: true, cumulative_quantity: '662', attention: 'more was filled than ordered' }],
      positions: [{ quantity: '662' }],
    });
    for (let replay = 0; replay < 3; replay += 1) await apply(command, ...fills);
    expect(await rowsOf(command)).toEqual(booked);
    expect(await countOf(metrics.overfilledOrders)).toBe(1);
    expect(await countOf(metrics.duplicateExecutions)).toBe(6);
  });

  test.each([['CANCELLED'], ['REJECTED'], ['EXPIRED']] as const)(
    'that is a fill after %s is booked, shown and counted, and leaves the status',
    async (end) => {
      const command = await anOpenedOrder();
      await apply(command, anExecutionOf(command, end));
      const fill = anExecutionOf(command, 'FILL', { quantity: '4' });
      await apply(command, fill);
      await apply(command, fill);
      expect(await rowsOf(command)).toMatchObject({
        orders: [
          {
            status: end,
            cumulative_quantity: '4',
            attention: `FILL ${fill.executionId} arrived when the order was ${end}`,
          },
        ],
        fills: [{ quantity: '4' }],
        positions: [{ quantity: '4' }],
      });
      expect(await countOf(metrics.surprisingExecutions, { type: 'FILL', status: end })).toBe(1);
    },
  );

  // https://github.com/freqtrade/freqtrade/issues/11461
  test('that tells of its cancel with a part filled, and then the rest as filled, is what was traded', async () => {
    const command = await anOpenedOrder({ quantity: '10' });
    await apply(
      command,
      anExecutionOf(command, 'FILL', { quantity: '3' }),
      anExecutionOf(command, 'CANCELLED'),
    );
    await apply(command, anExecutionOf(command, 'FILL', { quantity: '7' }));
    expect(await rowsOf(command)).toMatchObject({
      orders: [{ status: 'CANCELLED', cumulative_quantity: '10', overfilled: false }],
      positions: [{ quantity: '10' }],
    });
  });

  test('that has another symbol or side is put aside with the reason, counted, and never booked', async () => {
    const command = await anOpenedOrder();
    const symbol = anExecutionOf(command, 'FILL', { symbol: 'GBPUSD' });
    const side = anExecutionOf(command, 'FILL', { side: 'sell' });
    await apply(command, symbol, side, anExecutionOf(command, 'FILL', { quantity: '2' }));
    expect(await quarantined(command)).toMatchObject([
      { reason: 'wrong_order', detail: `FILL ${symbol.executionId} is for GBPUSD, the order for EURUSD` },
      { reason: 'wrong_order', detail: `FILL ${side.executionId} says sell, the order buy` },
    ]);
    expect(await countOf(metrics.quarantinedEvents, { reason: 'wrong_order' })).toBe(2);
    expect(await rowsOf(command)).toMatchObject({
      orders: [
        { cumulative_quantity: '2', attention: expect.stringContaining(symbol.executionId) as string },
      ],
      positions: [{ symbol: 'EURUSD', quantity: '2' }],
    });
  });

  // https://github.com/nautechsystems/nautilus_trader/issues/3081
  test('that shares its id with the other leg of a flip is a conflict that is seen, never a silent loss', async () => {
    const opening = await anOpenedOrder({ side: 'sell', quantity: '5' });
    await apply(opening, anExecutionOf(opening, 'FILL', { quantity: '5' }));
    const { accountId } = opening.request;
    const flip = await anOpenedOrder({ accountId, side: 'buy', quantity: '8' });
    const closing = anExecutionOf(flip, 'FILL', {
      executionId: `${flip.request.clientOrderId}-t`,
      quantity: '5',
    });
    await apply(flip, closing, { ...closing, quantity: '3' });
    expect(await quarantined(flip)).toMatchObject([
      {
        reason: 'conflict',
        payload: expect.stringContaining('"quantity":"3"') as string,
        other_payload: expect.stringMatching(/^sha256:/) as string,
      },
    ]);
    expect(await countOf(metrics.conflictingExecutions, { type: 'FILL' })).toBe(1);
    const { orders = [], positions } = await rowsOf(flip);
    expect(positions).toMatchObject([{ quantity: '0' }]);
    expect(orders).toContainEqual(
      expect.objectContaining({
        attention: `execution ${closing.executionId} came again with other content`,
      }),
    );

    // With an id for each leg, as the contract for bridges asks for, both are booked and the position has crossed zero.
    await apply(flip, { ...closing, executionId: `${closing.executionId}:2`, quantity: '3', price: '1.2' });
    expect(await rowsOf(flip)).toMatchObject({ positions: [{ quantity: '3', average_price: '1.2' }] });
  });

  // https://github.com/quickfix-j/quickfixj/issues/1254
  test('that a venue sends again, and that was never seen before, is booked; the original that follows is not', async () => {
    const command = await anOpenedOrder();
    const resent = anExecutionOf(command, 'FILL', { quantity: '4', executedAt: '2026-03-13T22:00:00Z' });
    await apply(command, resent);
    // https://github.com/quickfix/quickfix/issues/268: a resend that is sent twice.
    await apply(command, resent, resent);
    expect(await rowsOf(command)).toMatchObject({ fills: [{}], positions: [{ quantity: '4' }] });
    expect(await countOf(metrics.executionsApplied, { type: 'FILL' })).toBe(1);
    expect(await countOf(metrics.duplicateExecutions, { type: 'FILL' })).toBe(2);
  });

  // https://github.com/quickfix/quickfix/issues/195, https://github.com/nautechsystems/nautilus_trader/releases
  test('since two ranges of a resend overlap, or two pages of a history, counts once all the same', async () => {
    const command = await anOpenedOrder({ quantity: '100' });
    const fills = Array.from({ length: 9 }, (_, n) =>
      anExecutionOf(command, 'FILL', { quantity: String(n + 1) }),
    );
    await apply(command, ...fills.slice(0, 6));
    await apply(command, ...fills.slice(3, 9));
    await apply(command, ...fills.slice(0, 9));
    expect(await rowsOf(command)).toMatchObject({ positions: [{ quantity: '45' }] });
    expect((await rowsOf(command))['fills']).toHaveLength(9);
  });

  test.each([
    ['1970-01-01T00:00:00Z'],
    ['1970-01-01T00:00:00.000000001Z'],
    ['9999-12-31T23:59:59Z'],
    ['9999-12-31T23:59:59.999999999Z'],
  ])('for being stamped %s is booked, amended and repeated as any other', async (executedAt) => {
    const command = await anOpenedOrder();
    const fill = anExecutionOf(command, 'FILL', { quantity: '4', executedAt });
    const correction = anExecutionOf(command, 'CORRECT', {
      refExecutionId: fill.executionId,
      quantity: '3',
      price: '1.2',
      executedAt,
    });
    await apply(command, fill, correction);
    await apply(command, correction, fill);
    expect(await rowsOf(command)).toMatchObject({ fills: [{}], positions: [{ quantity: '3' }] });
    expect(await countOf(metrics.duplicateExecutions)).toBe(2);
  });
});

function notAsked(): never {
  throw new Error('applying executions asks nobody');
}
