import { Command } from 'commander';
import { registerPositions } from '../../src/cli/positions';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { applyExecutions, applyExecutionsWithin } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import type { Execution } from '../../src/domain/execution';
import { CHECKPOINT_INTERVAL } from '../../src/domain/position-checkpoint';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const FILLS = 100_000;
const ORDERS = 1_000;
/** What a bust may read besides the blocks of fills behind it: a few rows about the order. */
const ROWS_ASIDE = 40;

describe('a position of 100,000 fills', () => {
  let database: TestDatabase;
  let orders: readonly OpenOrderCommand[];
  beforeAll(async () => {
    database = await createTestDatabase();
    orders = await fillPosition();
  });
  afterAll(async () => {
    await database.drop();
  });

  /** Fills that were booked before there were checkpoints, a hundred of them by each of the orders that are given back. */
  const fillPosition = async (): Promise<OpenOrderCommand[]> => {
    const accountId = anOpenOrder().request.accountId;
    const sides = ['buy', 'sell'] as const;
    const commands = Array.from({ length: ORDERS }, (_, index) =>
      anOpenOrder({ accountId, clientOrderId: `o-${index}`, side: sides[index % 2]!, quantity: '1000' }),
    );
    for (const command of commands) await openOrder(database.pool, command, {});
    await database.pool.query(
      `insert into fills (source, execution_id, account_id, client_order_id, symbol, side, quantity, price,
                          effective_quantity, effective_price, executed_at, position_sequence)
       select 'TEST', 'E' || n, $1, 'o-' || (n - 1) / 100, 'EURUSD',
              case (n - 1) / 100 % 2 when 0 then 'buy' else 'sell' end, q, p, q, p, now(), n
       from (select n, 1 + n * 31 % 97 as q, 1 + (n * 17 % 1000) / 1000.0 as p
             from generate_series(1, $2::integer) n) fills`,
      [accountId, FILLS],
    );
    await database.pool.query(
      `insert into positions (account_id, symbol, quantity, last_sequence) values ($1, 'EURUSD', 0, $2)`,
      [accountId, FILLS],
    );
    await database.pool.query(
      `update orders o set cumulative_quantity = sums.quantity, cumulative_cost = sums.cost
       from (select client_order_id, sum(quantity) as quantity, sum(quantity * price) as cost
             from fills where account_id = $1 group by client_order_id) sums
       where o.account_id = $1 and o.client_order_id = sums.client_order_id`,
      [accountId],
    );
    await database.pool.query('analyze fills');
    // Everything is folded once, by a bust of the oldest fill.
    await apply(commands[0]!, bustOf(commands[0]!, 1));
    return commands;
  };

  const bustOf = (command: OpenOrderCommand, place: number): Execution =>
    anExecutionOf(command, 'BUST', { refExecutionId: `E${place}` });
  const apply = async (
    { request: { accountId, clientOrderId } }: OpenOrderCommand,
    execution: Execution,
  ): Promise<void> => {
    await applyExecutions(database.pool, { accountId, clientOrderId, executions: [execution] });
  };
  /** How many rows the transaction of an execution reads. */
  const rowsRead = async (command: OpenOrderCommand, execution: Execution): Promise<number> => {
    const connection = await database.pool.connect();
    const reading = jest.spyOn(connection, 'query');
    try {
      const { accountId, clientOrderId } = command.request;
      await connection.query('begin');
      await applyExecutionsWithin(connection, { accountId, clientOrderId, executions: [execution] });
      await connection.query('commit');
      const results = await Promise.all(
        reading.mock.results.map(({ value }) => value as Promise<{ rows: unknown[] }>),
      );
      return results.reduce((sum, { rows }) => sum + rows.length, 0);
    } finally {
      reading.mockRestore();
      connection.release();
    }
  };
  const verify = async (): Promise<{ readonly output: string; readonly exitCode: unknown }> => {
    const printed = jest.spyOn(console, 'log').mockImplementation(() => undefined);
    const before = process.exitCode;
    try {
      const program = new Command();
      registerPositions(program);
      const words = ['positions', 'verify', '--account', orders[0]!.request.accountId];
      await program.parseAsync([...words, '--database-url', database.url], { from: 'user' });
      return { output: printed.mock.calls.flat().join('\n'), exitCode: process.exitCode };
    } finally {
      process.exitCode = before;
      printed.mockRestore();
    }
  };

  test.each([0, 1_000, 20_000])(
    'reads for a bust of a fill %i places back its own block, a row for each behind it and the fills of none',
    async (back) => {
      const place = FILLS - back;
      const order = orders[Math.floor((place - 1) / 100)]!;
      const interval = Number(CHECKPOINT_INTERVAL);
      const own = interval;
      const unfinished = FILLS % interval;
      const least = Math.floor(back / interval);
      const read = await rowsRead(order, bustOf(order, place));
      expect(read).toBeGreaterThanOrEqual(least);
      expect(read).toBeLessThan(own + least + unfinished + ROWS_ASIDE);
    },
  );

  test('reads for an ordinary fill as many rows as a new position does', async () => {
    const short = anOpenOrder({ quantity: '1000' });
    await openOrder(database.pool, short, {});
    await apply(short, anExecutionOf(short, 'FILL'));
    const ofShort = await rowsRead(short, anExecutionOf(short, 'FILL'));
    const last = orders.at(-1)!;
    expect(await rowsRead(last, anExecutionOf(last, 'FILL'))).toBe(ofShort);
  });

  test('is verified by the command, which prints what was tampered with and exits with 1', async () => {
    expect(await verify()).toEqual({ output: 'positions: 1, differences: 0', exitCode: undefined });
    const { accountId } = orders[0]!.request;
    await database.pool.query(
      'update positions set realised_profit = realised_profit + 1 where account_id = $1',
      [accountId],
    );
    const { output, exitCode } = await verify();
    expect(output).toContain(`${accountId} EURUSD position: stored quantity`);
    expect(output).toContain('positions: 1, differences: 1');
    expect(exitCode).toBe(1);
  });
});
