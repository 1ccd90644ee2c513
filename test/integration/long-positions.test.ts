import { Command } from 'commander';
import { registerPositions } from '../../src/cli/positions';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import type { Execution } from '../../src/domain/execution';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const FILLS = 100_000;
const ORDERS = 1_000;
const RECENT_BUST_MS = 100;
/** The quickest counts: what else the machine does makes a run slower, never quicker. */
const TRIES = 7;

describe('a position of 100,000 fills', () => {
  let database: TestDatabase;
  let last: OpenOrderCommand;
  beforeAll(async () => {
    database = await createTestDatabase();
    last = await fillPosition();
  });
  afterAll(async () => {
    await database.drop();
  });

  /** Fills that were booked before there were checkpoints, the last hundred of them by the order that is given back. */
  const fillPosition = async (): Promise<OpenOrderCommand> => {
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
    await database.pool.query('analyze fills');
    // Everything is folded once, by a bust of the oldest fill.
    await apply(commands[0]!, bustOf(commands[0]!, 1));
    return commands.at(-1)!;
  };

  const bustOf = (command: OpenOrderCommand, place: number): Execution =>
    anExecutionOf(command, 'BUST', { refExecutionId: `E${place}` });
  const apply = async (
    { request: { accountId, clientOrderId } }: OpenOrderCommand,
    execution: Execution,
  ): Promise<number> => {
    const from = performance.now();
    await applyExecutions(database.pool, { accountId, clientOrderId, executions: [execution] });
    return performance.now() - from;
  };
  const quickest = async (
    command: OpenOrderCommand,
    executionOf: (attempt: number) => Execution,
  ): Promise<number> => {
    const times: number[] = [];
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      times.push(await apply(command, executionOf(attempt)));
    }
    return Math.min(...times);
  };
  const verify = async (): Promise<{ readonly output: string; readonly exitCode: unknown }> => {
    const printed = jest.spyOn(console, 'log').mockImplementation(() => undefined);
    const before = process.exitCode;
    try {
      const program = new Command();
      registerPositions(program);
      const words = ['positions', 'verify', '--account', last.request.accountId];
      await program.parseAsync([...words, '--database-url', database.url], { from: 'user' });
      return { output: printed.mock.calls.flat().join('\n'), exitCode: process.exitCode };
    } finally {
      process.exitCode = before;
      printed.mockRestore();
    }
  };

  test(`takes a bust of a recent fill in under ${RECENT_BUST_MS} ms`, async () => {
    const ofBust = await quickest(last, (attempt) => bustOf(last, FILLS - 10 * attempt));
    expect(ofBust).toBeLessThan(RECENT_BUST_MS);
  });

  test('takes an ordinary fill about as quickly as a new position does', async () => {
    const short = anOpenOrder({ quantity: '1000' });
    await openOrder(database.pool, short, {});
    const ofShort = await quickest(short, () => anExecutionOf(short, 'FILL'));
    expect(await quickest(last, () => anExecutionOf(last, 'FILL'))).toBeLessThan(3 * ofShort);
  });

  test('is verified by the command, which prints what was tampered with and exits with 1', async () => {
    expect(await verify()).toEqual({ output: 'positions: 1, differences: 0', exitCode: undefined });
    const { accountId } = last.request;
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
