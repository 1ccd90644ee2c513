import { Command } from 'commander';
import { registerExecutions } from '../../src/cli/executions';
import { printable } from '../../src/cli/set-aside-line';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import { lateExecutionsWorkflowId } from '../../src/domain/ids';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { accountRows } from '../support/rows';
import { temporalClient } from '../support/temporal-client';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

describe('tekil executions', () => {
  let database: TestDatabase;
  const out: string[] = [];
  const err: string[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    jest.spyOn(console, 'log').mockImplementation((line: string) => void out.push(line));
    jest.spyOn(console, 'error').mockImplementation((line: string) => void err.push(line));
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await database.drop();
  });

  /** Returns the lines of the standard output. */
  const tekil = async (...words: readonly string[]): Promise<readonly string[]> => {
    out.length = 0;
    err.length = 0;
    const program = new Command('tekil').exitOverride().configureOutput({ writeErr: () => undefined });
    registerExecutions(program);
    program.commands[0]?.commands.forEach((command) => command.exitOverride());
    await program.parseAsync(['executions', ...words, '--database-url', database.url], { from: 'user' });
    return [...out];
  };
  const keyOf = ({ request: { accountId, clientOrderId } }: OpenOrderCommand) => ({
    accountId,
    clientOrderId,
  });
  const aParkedFill = async () => {
    const order = anOpenOrder();
    const fill = anExecutionOf(order, 'FILL');
    await applyExecutions(database.pool, { ...keyOf(order), executions: [fill] });
    const [line = ''] = await tekil('list', '--account', order.request.accountId);
    return { order, fill, line, id: line.split(' ')[0] ?? '', listed: listedOf(order) };
  };
  const listedOf = (order: OpenOrderCommand) => () => tekil('list', '--account', order.request.accountId);

  test('lists what waits, shows one whole, and discards it with a reason', async () => {
    const { order, fill, line, id, listed } = await aParkedFill();
    expect(line).toMatch(/^p\d+ {2}parked {2}\S+Z {2}TEST FILL \S+ {2}\S+ {2}there is no order /);
    const shown = JSON.parse((await tekil('show', id)).join('\n')) as { readonly payload: string };
    expect(JSON.parse(shown.payload)).toEqual(fill);
    expect(await tekil('discard', id, '--reason', 'an order of another house', '--by', 'alice')).toEqual([
      expect.stringMatching(new RegExp(`^discard ${id}: discarded, decided by alice at \\S+Z$`)),
    ]);
    expect(await listed()).toEqual([]);
    expect((await tekil('list', '--account', order.request.accountId, '--all'))[0]).toContain(
      'discarded; an order of another house]',
    );
    expect((await tekil('discard', id, '--reason', 'again'))[0]).toMatch(
      /^nothing to do: discard .* by alice /,
    );
    await expect(tekil('adopt', id, '--reason', 'or not')).rejects.toThrow(
      `${id} was decided before: discard, by alice`,
    );
  });

  test('adopts a parked fill into the order that is named, and lets its run know', async () => {
    const { id, fill, listed } = await aParkedFill();
    const order = anOpenOrder();
    await openOrder(database.pool, order, {});
    const { accountId, clientOrderId } = keyOf(order);
    const words = [
      'adopt',
      id,
      '--account',
      accountId,
      '--order',
      clientOrderId,
      '--reason',
      'the bridge erred',
    ];
    expect((await tekil(...words))[0]).toMatch(new RegExp(`^adopt ${id}: applied, decided by \\S+ at `));
    expect(await listed()).toEqual([]);
    expect((await accountRows(database.pool, accountId))['fills']).toMatchObject([
      { execution_id: fill.executionId },
    ]);
    const temporal = await temporalClient();
    const run = temporal.client.workflow.getHandle(lateExecutionsWorkflowId({ accountId, clientOrderId }));
    await run.terminate('nobody works on this queue');
    await temporal.close();
  });

  test('says what is wrong', async () => {
    await expect(tekil('discard', 'q1')).rejects.toThrow("required option '--reason");
    await expect(tekil('discard', 'q1', '--reason', ' ')).rejects.toThrow('1 to 1000 characters');
    await expect(tekil('discard', 'q999', '--reason', 'x')).rejects.toThrow('there is no event q999');
    await expect(tekil('show', 'nothing')).rejects.toThrow('there is no event nothing');
    await expect(tekil('list', '--kind', 'odd')).rejects.toThrow('Allowed choices are malformed');
    await expect(tekil('list', '--limit', '0')).rejects.toThrow('whole number from 1 to 1000');
    await expect(tekil('adopt', 'p1', '--order', 'x', '--reason', 'x')).rejects.toThrow('go together');
  });

  test('says so when there are more than it lists', async () => {
    await aParkedFill();
    await aParkedFill();
    expect(await tekil('list', '--kind', 'parked', '--limit', '1')).toHaveLength(1);
    expect(err).toEqual(['there are more: filter, or raise --limit']);
  });

  test('a hostile event cannot reach the terminal', () => {
    expect(printable('a\u001b[2Jb\u009bc\u202ed\n')).toBe('a\\u001b[2Jb\\u009bc\\u202ed\n');
  });
});
