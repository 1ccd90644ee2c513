import fc from 'fast-check';
import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import { decimal } from '../../src/domain/decimal';
import type { Execution } from '../../src/domain/execution';
import { foldTrades } from '../../src/domain/position';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { accountRows } from '../support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { shown, tradeOf } from '../support/trades';

describe('applying executions', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => {
    await database.drop();
  });

  const anOpenedOrder = async (quantity = '10'): Promise<OpenOrderCommand> => {
    const command = anOpenOrder({ quantity });
    await openOrder(database.pool, command, {});
    return command;
  };
  const apply = (command: OpenOrderCommand, ...executions: Execution[]) =>
    applyExecutions(database.pool, { ...keyOf(command), executions });
  const keyOf = ({ request: { accountId, clientOrderId } }: OpenOrderCommand) => ({
    accountId,
    clientOrderId,
  });
  const rowsOf = ({ request }: OpenOrderCommand) => accountRows(database.pool, request.accountId);
  const verdictsOf = async (outcome: ReturnType<typeof apply>) =>
    (await outcome).verdicts.map(({ verdict }) => verdict);

  // https://github.com/QuantConnect/Lean.Brokerages.Alpaca/pull/61
  test('three deliveries of one fill make one row and one move of the position', async () => {
    const command = await anOpenedOrder('967');
    const fill = anExecutionOf(command, 'FILL', { quantity: '967' });
    const verdicts = [
      await verdictsOf(apply(command, anExecutionOf(command, 'NEW'), fill)),
      await verdictsOf(apply(command, anExecutionOf(command, 'NEW'), fill)),
      await verdictsOf(apply(command, fill, fill)),
    ].flat();
    expect(verdicts.filter((verdict) => verdict === 'duplicate')).toHaveLength(3);
    expect(await rowsOf(command)).toMatchObject({ fills: [{}], positions: [{ quantity: '967' }] });
  });

  test('a repeat writes nothing at all', async () => {
    const command = await anOpenedOrder();
    const executions = [anExecutionOf(command, 'NEW'), anExecutionOf(command, 'FILL')];
    await apply(command, ...executions);
    const before = await rowsOf(command);
    await apply(command, ...executions);
    await apply(command, ...executions.toReversed());
    expect(await rowsOf(command)).toEqual(before);
  });

  // https://github.com/Particular/NServiceBus/issues/4086
  test('one fill on ten connections at once is applied by one of them', async () => {
    const command = await anOpenedOrder();
    const fill = anExecutionOf(command, 'FILL');
    const verdicts = await Promise.all(Array.from({ length: 10 }, () => verdictsOf(apply(command, fill))));
    expect(verdicts.flat().toSorted()).toEqual(['applied', ...Array<string>(9).fill('duplicate')]);
  });

  test('many orders of one position on many connections lose nothing and never deadlock', async () => {
    const accountId = anOpenOrder().request.accountId;
    const commands = Array.from({ length: 12 }, () => anOpenOrder({ accountId, quantity: '100' }));
    await Promise.all(commands.map((command) => openOrder(database.pool, command, {})));
    await Promise.all(
      commands.flatMap((command) =>
        Array.from({ length: 10 }, () => apply(command, anExecutionOf(command, 'FILL'))),
      ),
    );
    const { positions, fills } = await accountRows(database.pool, accountId);
    expect(fills).toHaveLength(120);
    expect(positions).toMatchObject([{ quantity: '120', last_sequence: '120' }]);
  });

  test('one execution id under two types is two events, since ids of different types may collide', async () => {
    const command = await anOpenedOrder();
    const verdicts = await verdictsOf(
      apply(
        command,
        anExecutionOf(command, 'NEW', { executionId: '7' }),
        anExecutionOf(command, 'FILL', { executionId: '7' }),
      ),
    );
    expect(verdicts).toEqual(['applied', 'applied']);
  });

  test('one execution id of two sources is two fills', async () => {
    const command = await anOpenedOrder();
    const fill = anExecutionOf(command, 'FILL');
    expect(await verdictsOf(apply(command, fill, { ...fill, source: 'OTHER' }))).toEqual([
      'applied',
      'applied',
    ]);
  });

  // A real venue log holds a bust whose execution id was used earlier for another order.
  test('a bust under an execution id that another order used is not swallowed', async () => {
    const [first, second] = [await anOpenedOrder(), await anOpenedOrder()];
    const fill = anExecutionOf(second, 'FILL', { quantity: '4' });
    await apply(second, fill);
    const bust = { refExecutionId: fill.executionId, executionId: 'B-1' };
    expect(await verdictsOf(apply(first, anExecutionOf(first, 'FILL', { executionId: 'B-1' })))).toEqual([
      'applied',
    ]);
    expect(await verdictsOf(apply(second, anExecutionOf(second, 'BUST', bust)))).toEqual(['applied']);
    expect(await rowsOf(second)).toMatchObject({ positions: [{ quantity: '0', average_price: null }] });
    // The very same identity with other content cannot be both: it is put aside, visibly.
    const conflicting = anExecutionOf(first, 'BUST', { executionId: 'B-1', refExecutionId: 'B-1' });
    expect(await verdictsOf(apply(first, conflicting))).toEqual(['conflict']);
    expect(await rowsOf(first)).toMatchObject({
      orders: [{ attention: 'execution B-1 came again with other content' }],
      positions: [{ quantity: '1' }],
    });
  });

  test('an execution for another symbol or side is put aside and does not hold up the rest', async () => {
    const command = await anOpenedOrder();
    const verdicts = await verdictsOf(
      apply(
        command,
        anExecutionOf(command, 'FILL', { symbol: 'GBPUSD' }),
        anExecutionOf(command, 'FILL', { side: 'sell' }),
        anExecutionOf(command, 'FILL'),
      ),
    );
    expect(verdicts.toSorted()).toEqual(['applied', 'wrong_order', 'wrong_order']);
    expect(await rowsOf(command)).toMatchObject({ positions: [{ symbol: 'EURUSD', quantity: '1' }] });
  });

  test('a bust of another order’s fill is put aside', async () => {
    const [mine, theirs] = [await anOpenedOrder(), await anOpenedOrder()];
    const fill = anExecutionOf(theirs, 'FILL');
    await apply(theirs, fill);
    const bust = anExecutionOf(mine, 'BUST', { refExecutionId: fill.executionId });
    expect(await verdictsOf(apply(mine, bust))).toEqual(['wrong_order']);
    expect(await rowsOf(theirs)).toMatchObject({ positions: [{ quantity: '1' }] });
  });

  test('a fill that comes again after its dedup row was purged is caught by the second line', async () => {
    const command = await anOpenedOrder();
    const fill = anExecutionOf(command, 'FILL');
    await apply(command, fill);
    const before = await rowsOf(command);
    await database.pool.query('delete from processed_events where event_id = $1', [fill.executionId]);
    expect(await verdictsOf(apply(command, fill))).toEqual(['outside_window']);
    expect(await rowsOf(command)).toEqual(before);
  });

  test('a fault in the middle leaves nothing half done', async () => {
    const command = await anOpenedOrder();
    const before = await rowsOf(command);
    const fill = anExecutionOf(command, 'FILL');
    const failing = applyExecutions(
      database.pool,
      { ...keyOf(command), executions: [fill] },
      {
        beforeCommit: () => {
          throw new Error('the power is gone');
        },
      },
    );
    await expect(failing).rejects.toThrow('the power is gone');
    expect(await rowsOf(command)).toEqual(before);
    expect(await verdictsOf(apply(command, fill))).toEqual(['applied']);
  });

  test('an execution that races the opening of its order is applied, whoever is first', async () => {
    for (let round = 0; round < 20; round += 1) {
      const command = anOpenOrder();
      const fill = anExecutionOf(command, 'FILL');
      const [opened] = await Promise.all([openOrder(database.pool, command, {}), apply(command, fill)]);
      if (opened.result.parkedExecutions) {
        await applyExecutions(database.pool, { ...keyOf(command), executions: [], includeParked: true });
      }
      expect(await rowsOf(command)).toMatchObject({ positions: [{ quantity: '1' }] });
    }
  });

  test('batches of any split and any repeats leave the rows that the sequence leaves, and the position is the fold of its fills', async () => {
    const fills = fc.array(
      fc.record({
        quantity: fc.integer({ min: 1, max: 50 }).map(String),
        price: fc.integer({ min: -5, max: 200 }).map(String),
      }),
      { minLength: 1, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(fills, fc.infiniteStream(fc.nat(3)), async (trades, stream) => {
        const choice = () => stream.next().value as number;
        const side = choice() % 2 === 0 ? 'buy' : 'sell';
        const accountId = anOpenOrder().request.accountId;
        const command = anOpenOrder({ accountId, side, quantity: '1000' });
        await openOrder(database.pool, command, {});
        const executions = trades.map((trade) => anExecutionOf(command, 'FILL', trade));
        const delivered = executions.flatMap((execution) =>
          Array.from({ length: 1 + (choice() % 3) }, () => execution),
        );
        while (delivered.length > 0) await apply(command, ...delivered.splice(0, 1 + choice()));

        const expected = foldTrades(
          trades.map(({ quantity, price }) =>
            tradeOf({ side, quantity: decimal(quantity), price: decimal(price) }),
          ),
        );
        const { quantity, averagePrice, realisedProfit } = shown(expected);
        const rows = await accountRows(database.pool, accountId);
        expect(rows['fills']).toHaveLength(trades.length);
        expect(rows['positions']).toMatchObject([
          { quantity, average_price: averagePrice, realised_profit: realisedProfit },
        ]);
      }),
      { numRuns: 40 },
    );
  });
});
