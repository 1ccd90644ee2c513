import fc from 'fast-check';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import { allRows } from '../../src/db/pool';
import { listPositionChanges, type PositionChangeRow } from '../../src/db/positions';
import { verifyPositions, type PositionDifference } from '../../src/db/verify-positions';
import type { Execution } from '../../src/domain/execution';
import { CHECKPOINT_INTERVAL } from '../../src/domain/position-checkpoint';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

describe('positions over time', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => {
    await database.drop();
  });

  const anOpenedOrder = async (change: Parameters<typeof anOpenOrder>[0] = {}): Promise<OpenOrderCommand> => {
    const command = anOpenOrder({ quantity: '1000000', ...change });
    await openOrder(database.pool, command, {});
    return command;
  };
  const apply = async (
    { request: { accountId, clientOrderId } }: OpenOrderCommand,
    ...executions: Execution[]
  ): Promise<string[]> => {
    const { verdicts } = await applyExecutions(database.pool, { accountId, clientOrderId, executions });
    return verdicts.map(({ verdict }) => verdict);
  };
  const bustOf = (command: OpenOrderCommand, { executionId }: Execution): Execution =>
    anExecutionOf(command, 'BUST', { executionId: `B-${executionId}`, refExecutionId: executionId });
  const changesOf = async ({ request }: OpenOrderCommand): Promise<PositionChangeRow[]> =>
    (await listPositionChanges(database.pool, request, { limit: 1_000 })).toReversed();
  const differencesOf = async ({ request }: OpenOrderCommand): Promise<PositionDifference[]> => {
    const differences: PositionDifference[] = [];
    await verifyPositions(database.pool, request.accountId, (difference) => differences.push(difference));
    return differences;
  };
  const checkpointsOf = ({ request }: OpenOrderCommand): Promise<unknown[]> =>
    allRows(database.pool, {
      text: `select position_sequence::int as place, trim_scale(quantity)::text as quantity
             from position_checkpoints where account_id = $1 order by position_sequence`,
      values: [request.accountId],
    });

  describe('the changes of a position', () => {
    test('show each fill, correction and bust with the position after it', async () => {
      const command = await anOpenedOrder();
      const first = anExecutionOf(command, 'FILL', { quantity: '10', price: '1.1' });
      const second = anExecutionOf(command, 'FILL', { quantity: '30', price: '1.3' });
      const correction = anExecutionOf(command, 'CORRECT', {
        refExecutionId: first.executionId,
        quantity: '10',
        price: '1.5',
      });
      await apply(command, anExecutionOf(command, 'NEW'), first, second);
      await apply(command, correction);
      await apply(command, bustOf(command, second));
      expect(await changesOf(command)).toMatchObject([
        { sequence: 1, type: 'FILL', executionId: first.executionId, quantity: '10', averagePrice: '1.1' },
        { sequence: 2, type: 'FILL', executionId: second.executionId, quantity: '40', averagePrice: '1.25' },
        { sequence: 3, type: 'CORRECT', executionId: correction.executionId, averagePrice: '1.35' },
        {
          sequence: 4,
          type: 'BUST',
          executionId: `B-${second.executionId}`,
          quantity: '10',
          averagePrice: '1.5',
        },
      ]);
      expect(await differencesOf(command)).toEqual([]);
    });

    test('are not added to by repeats, nor by what moves nothing', async () => {
      const command = await anOpenedOrder();
      const fill = anExecutionOf(command, 'FILL');
      const bust = bustOf(command, fill);
      await apply(command, fill);
      await apply(command, bust);
      const before = await changesOf(command);
      await apply(command, fill, bust);
      // A correction under a bust: the bust decides, and nothing changes.
      const late = { refExecutionId: fill.executionId, quantity: '7', price: '7' };
      await apply(command, anExecutionOf(command, 'CORRECT', late), anExecutionOf(command, 'CANCELLED'));
      expect(await changesOf(command)).toEqual(before);
      expect(before).toHaveLength(2);
    });

    test('show a fill that its bust overtook as one change that moves nothing', async () => {
      const command = await anOpenedOrder();
      const fill = anExecutionOf(command, 'FILL');
      await apply(command, bustOf(command, fill));
      await apply(command, fill);
      expect(await changesOf(command)).toMatchObject([{ type: 'FILL', quantity: '0', averagePrice: null }]);
      expect(await differencesOf(command)).toEqual([]);
    });

    test('show the amendments of a batch together, before its fills', async () => {
      const command = await anOpenedOrder();
      const [first, second, third] = Array.from({ length: 3 }, () => anExecutionOf(command, 'FILL'));
      await apply(command, first!, second!);
      await apply(command, third!, bustOf(command, first!), bustOf(command, second!));
      expect(await changesOf(command)).toMatchObject([
        { type: 'FILL', quantity: '1' },
        { type: 'FILL', quantity: '2' },
        { type: 'BUST', quantity: '0' },
        { type: 'BUST', quantity: '0' },
        { type: 'FILL', quantity: '1' },
      ]);
    });
  });

  test('an amendment that comes again after its dedup row was purged changes nothing', async () => {
    const command = await anOpenedOrder();
    const fill = anExecutionOf(command, 'FILL');
    const bust = bustOf(command, fill);
    await apply(command, fill);
    await apply(command, bust);
    const before = await changesOf(command);
    await database.pool.query('delete from processed_events where event_id = $1', [bust.executionId]);
    expect(await apply(command, bust)).toEqual(['outside_window']);
    expect(await changesOf(command)).toEqual(before);
  });

  describe('checkpoints and blocks of fills', () => {
    const interval = Number(CHECKPOINT_INTERVAL);

    /** More than three intervals of fills, in batches that end nowhere near a checkpoint. */
    const withFills = async (): Promise<{ command: OpenOrderCommand; fills: Execution[] }> => {
      const command = await anOpenedOrder();
      const fills = Array.from({ length: 3 * interval + 50 }, (_, index) =>
        anExecutionOf(command, 'FILL', { price: `1.${index}` }),
      );
      for (let at = 0; at < fills.length; at += 90) await apply(command, ...fills.slice(at, at + 90));
      return { command, fills };
    };

    const blocksOf = ({ request }: OpenOrderCommand): Promise<unknown[]> =>
      allRows(database.pool, {
        text: `select position_sequence::int as place, trades
               from fill_blocks where account_id = $1 order by position_sequence`,
        values: [request.accountId],
      });
    const blockOf = (count: number, fills: readonly (Execution | undefined)[]) => {
      const counted = fills
        .slice((count - 1) * interval, count * interval)
        .filter((fill) => fill !== undefined);
      const trades = counted.map(({ price }) => `1@${price?.replace(/0+$/, '').replace(/\.$/, '') ?? ''}`);
      return { place: count * interval, trades: trades.join(' ') };
    };

    test('are written as the fills go by', async () => {
      const { command, fills } = await withFills();
      expect(await checkpointsOf(command)).toEqual(
        [1, 2, 3].map((count) => ({ place: count * interval, quantity: String(count * interval) })),
      );
      expect(await blocksOf(command)).toEqual([1, 2, 3].map((count) => blockOf(count, fills)));
      expect(await differencesOf(command)).toEqual([]);
    });

    test('behind an amended fill are rewritten, those before it stay', async () => {
      const { command, fills } = await withFills();
      for (const at of [interval + 10, interval, interval - 1, 3 * interval + 49, 0]) {
        await apply(command, bustOf(command, fills[at]!));
        expect(await differencesOf(command)).toEqual([]);
      }
      expect(await checkpointsOf(command)).toMatchObject([
        { quantity: String(interval - 2) },
        { quantity: String(2 * interval - 4) },
        { quantity: String(3 * interval - 4) },
      ]);
    });

    test('hold what an amended fill counts for, and nothing of a busted one', async () => {
      const { command, fills } = await withFills();
      const correction = { refExecutionId: fills[interval]!.executionId, quantity: '1', price: '9.25' };
      await apply(command, anExecutionOf(command, 'CORRECT', correction));
      await apply(command, bustOf(command, fills[7]!));
      const amended: (Execution | undefined)[] = [...fills];
      amended[interval] = { ...fills[interval]!, price: '9.25' };
      amended[7] = undefined;
      expect(await blocksOf(command)).toEqual([1, 2, 3].map((count) => blockOf(count, amended)));
    });

    test('tell sales from purchases', async () => {
      const command = await anOpenedOrder({ side: 'sell' });
      const fills = Array.from({ length: interval }, () =>
        anExecutionOf(command, 'FILL', { quantity: '2.50' }),
      );
      await apply(command, ...fills);
      await apply(command, ...fills.slice(1).map((fill) => bustOf(command, fill)));
      expect(await blocksOf(command)).toEqual([{ place: interval, trades: `-2.5@${fills[0]?.price ?? ''}` }]);
      await apply(command, bustOf(command, fills[0]!));
      expect(await blocksOf(command)).toEqual([{ place: interval, trades: '' }]);
      expect(await differencesOf(command)).toEqual([]);
    });

    test('of fills that somebody changes by hand are forgotten, and the next bust before them folds what is there', async () => {
      const { command, fills } = await withFills();
      await database.pool.query(
        'update fills set effective_price = 9, amended_by = $3 where account_id = $1 and execution_id = $2',
        [command.request.accountId, fills[interval + 3]!.executionId, 'by hand'],
      );
      expect(await blocksOf(command)).toEqual([1, 3].map((count) => blockOf(count, fills)));
      await apply(command, bustOf(command, fills[3]!));
      const changed: (Execution | undefined)[] = [...fills];
      changed[3] = undefined;
      changed[interval + 3] = { ...fills[interval + 3]!, price: '9' };
      expect(await blocksOf(command)).toEqual([1, 2, 3].map((count) => blockOf(count, changed)));
      expect(await differencesOf(command)).toEqual([]);
    });

    test('are rewritten from the oldest of several fills that are amended at once', async () => {
      const { command, fills } = await withFills();
      await apply(command, ...[2 * interval + 5, 5, interval + 5].map((at) => bustOf(command, fills[at]!)));
      expect(await differencesOf(command)).toEqual([]);
    });

    test('that are missing cost time and nothing else, and come back', async () => {
      const { command, fills } = await withFills();
      const before = [await checkpointsOf(command), await blocksOf(command)];
      const { accountId } = command.request;
      await database.pool.query('delete from position_checkpoints where account_id = $1', [accountId]);
      await database.pool.query('delete from fill_blocks where account_id = $1 and position_sequence = $2', [
        accountId,
        2 * interval,
      ]);
      const correction = { refExecutionId: fills.at(-1)!.executionId, quantity: '2', price: '9' };
      await apply(command, anExecutionOf(command, 'CORRECT', correction));
      expect([await checkpointsOf(command), await blocksOf(command)]).toEqual(before);
      expect(await differencesOf(command)).toEqual([]);
    });
  });

  test('fills of two orders with amendments anywhere, in batches of any split, leave the same fills and position', async () => {
    const step = fc.record({
      sell: fc.boolean(),
      quantity: fc.integer({ min: 1, max: 50 }).map(String),
      price: fc.integer({ min: -5, max: 200 }).map(String),
      amended: fc.constantFrom('never', 'bust', 'correct', 'correct then bust'),
      at: fc.nat(),
    });
    const rowsOf = async (accountId: string): Promise<unknown> => ({
      fills: await allRows(database.pool, {
        text: `select execution_id, position_sequence, effective_quantity, effective_price, amended_by
               from fills where account_id = $1 order by position_sequence`,
        values: [accountId],
      }),
      positions: await allRows(database.pool, {
        text: `select quantity, average_price, realised_profit, last_sequence
               from positions where account_id = $1`,
        values: [accountId],
      }),
    });

    /** The orders whose totals are not the sums of what their fills count for. */
    const wrongTotals = (accountId: string): Promise<unknown[]> =>
      allRows(database.pool, {
        text: `select o.client_order_id, o.cumulative_quantity, o.cumulative_cost
               from orders o left join fills f using (account_id, client_order_id)
               where o.account_id = $1
               group by o.client_order_id, o.cumulative_quantity, o.cumulative_cost
               having o.cumulative_quantity <> coalesce(sum(f.effective_quantity), 0)
                 or o.cumulative_cost <> coalesce(sum(f.effective_quantity * f.effective_price), 0)`,
        values: [accountId],
      });

    const deliver = async (
      steps: readonly Step[],
      place: (of: Step, length: number) => number,
      size: number,
    ) => {
      const accountId = anOpenOrder().request.accountId;
      const buys = await anOpenedOrder({ accountId, side: 'buy' });
      const sells = await anOpenedOrder({ accountId, side: 'sell' });
      const events = steps.map((one, index) =>
        delivery(one.sell ? sells : buys, 'FILL', `${index}`, { quantity: one.quantity, price: one.price }),
      );
      for (const [index, one] of steps.entries()) {
        for (const type of amendmentsOf(one)) {
          const figures = type === 'CORRECT' ? { quantity: '3', price: '17' } : {};
          const change = { refExecutionId: `${accountId}-${index}`, ...figures };
          const event = delivery(one.sell ? sells : buys, type, `${type}${index}`, change);
          events.splice(place(one, events.length), 0, event);
        }
      }
      while (events.length > 0) {
        const { command } = events[0]!;
        const run = events.findIndex((event) => event.command !== command);
        const batch = events.splice(0, Math.min(size, run === -1 ? events.length : run));
        await apply(command, ...batch.map(({ execution }) => execution));
      }
      expect(await differencesOf(buys)).toEqual([]);
      expect(await wrongTotals(accountId)).toEqual([]);
      return JSON.stringify(await rowsOf(accountId)).replaceAll(accountId, '');
    };

    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 7 }),
        fc.integer({ min: 1, max: 5 }),
        async (steps, size) => {
          const inOrder = await deliver(steps, (_, length) => length, 1);
          const anyhow = await deliver(steps, ({ at }, length) => at % (length + 1), size);
          expect(anyhow).toBe(inOrder);
        },
      ),
      { numRuns: 60 },
    );
  });

  describe('verifying', () => {
    test.each([
      ['a position', 'update positions set quantity = quantity + 1', 'position'],
      ['a position to more places than it has', 'update positions set quantity = quantity / 3.0', 'position'],
      ['a realised profit', 'update positions set realised_profit = 0.01', 'position'],
      ['a fill', 'update fills set effective_price = 9, amended_by = $2', 'position'],
      ['the latest change', 'update position_changes set average_price = 9', 'latest change'],
      [
        'a checkpoint',
        'update position_checkpoints set quantity = 1',
        `checkpoint ${CHECKPOINT_INTERVAL.toString()}`,
      ],
      [
        'a block of fills',
        "update fill_blocks set trades = '1@1'",
        `block of fills ${CHECKPOINT_INTERVAL.toString()}`,
      ],
    ])('finds %s that was tampered with', async (_, statement, where) => {
      const command = await anOpenedOrder();
      const fills = Array.from({ length: Number(CHECKPOINT_INTERVAL) + 1 }, () =>
        anExecutionOf(command, 'FILL'),
      );
      await apply(command, ...fills);
      expect(await differencesOf(command)).toEqual([]);
      const { accountId } = command.request;
      await database.pool.query(`${statement} where account_id = $1 and $2 = 'X'`, [accountId, 'X']);
      expect(await differencesOf(command)).toContainEqual(expect.objectContaining({ accountId, where }));
    });
  });
});

interface Step {
  readonly sell: boolean;
  readonly quantity: string;
  readonly price: string;
  readonly amended: 'never' | 'bust' | 'correct' | 'correct then bust';
  readonly at: number;
}

function amendmentsOf({ amended }: Step): ('BUST' | 'CORRECT')[] {
  if (amended === 'never') return [];
  if (amended === 'bust') return ['BUST'];
  return amended === 'correct' ? ['CORRECT'] : ['CORRECT', 'BUST'];
}

function delivery(
  command: OpenOrderCommand,
  type: 'FILL' | 'BUST' | 'CORRECT',
  name: string,
  change: Partial<Execution>,
): { readonly command: OpenOrderCommand; readonly execution: Execution } {
  const executionId = `${command.request.accountId}-${name}`;
  return { command, execution: anExecutionOf(command, type, { executionId, ...change }) };
}
