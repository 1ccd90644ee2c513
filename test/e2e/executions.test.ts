import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionEvent } from '../../src/contracts/execution-event';
import { lateExecutionsWorkflowId, orderWorkflowId } from '../../src/domain/ids';
import { packageRoot } from '../../src/package-root';
import { anAcknowledgement, anEvent } from '../support/execution-events';
import { accountRows } from '../support/rows';
import type { ServiceProcess } from '../support/service-process';
import { aBody, startSystem, type ApiClient, type TestSystem } from '../support/system';
import { temporalClient } from '../support/temporal-client';
import { waitFor } from '../support/wait-for';

const DUPLICATES = 'tekil_duplicate_executions_total';

describe('executions', () => {
  let system: TestSystem;
  let bridge: ServiceProcess;
  let client: ApiClient;
  beforeAll(async () => {
    system = await startSystem({ services: ['quote-health'] });
    [, bridge] = await Promise.all([system.start('order-api'), system.start('fill-bridge')]);
  });
  afterAll(async () => {
    await system.stop();
  });
  beforeEach(async () => {
    client = await system.client();
  });

  const openOrder = async (change: Record<string, unknown> = {}) => {
    const body = aBody(change);
    await client.submit(body);
    await system.venue.awaitCommand(body.clientOrderId, 'NEW_ORDER');
    const order = { accountId: client.accountId, clientOrderId: body.clientOrderId };
    const fill = (executionId: string, quantity: string, more: Partial<ExecutionEvent> = {}) =>
      anEvent({
        ...order,
        executionId: `${body.clientOrderId}-${executionId}`,
        quantity,
        price: '1.1',
        ...more,
      });
    return { ...order, body, fill };
  };

  const orderIs = (clientOrderId: string, expected: Record<string, unknown>) =>
    waitFor(`the order to be ${JSON.stringify(expected)}`, async () => {
      const { json } = await client.request('GET', `/v1/orders/${clientOrderId}`);
      return Object.entries(expected).every(([field, value]) => json[field] === value) && json;
    });

  /** The command as an operator gives it; returns its standard output. */
  const tekil = async (...words: readonly string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'], ...system.env };
    const main = join(packageRoot(), 'dist/src/cli/main.js');
    const { stdout } = await promisify(execFile)(process.execPath, [main, ...words], {
      env,
      timeout: 20_000,
    });
    return stdout;
  };

  const position = async () => (await client.request('GET', '/v1/positions/EURUSD')).json;

  test('a fill delivered five times moves the position once', async () => {
    const { clientOrderId, fill } = await openOrder({ quantity: '10' });
    const before = await bridge.metric(DUPLICATES);
    await system.venue.report(fill('1', '4'));
    await orderIs(clientOrderId, { cumulativeQuantity: '4' });
    await system.venue.report(...Array.from({ length: 4 }, () => fill('1', '4')));
    await waitFor('four repeats to be counted', async () => (await bridge.metric(DUPLICATES)) - before === 4);
    expect(await position()).toMatchObject({ quantity: '4', averagePrice: '1.1' });
    const { json } = await client.request('GET', `/v1/orders/${clientOrderId}/events`);
    expect((json['events'] as { type: string }[]).map(({ type }) => type)).toEqual(['OPENED', 'FILL']);
  });

  test('a fill delivered five times in one batch moves the position once', async () => {
    const { clientOrderId, fill } = await openOrder();
    await system.venue.report(...Array.from({ length: 5 }, () => fill('1', '4')), fill('2', '1'));
    await orderIs(clientOrderId, { cumulativeQuantity: '5' });
    expect((await position())['quantity']).toBe('5');
  });

  test('a closed order that receives a fill books it once, by the late path', async () => {
    const { accountId, clientOrderId, fill } = await openOrder({ quantity: '1' });
    await system.venue.report(fill('1', '1'));
    await orderIs(clientOrderId, { status: 'FILLED' });
    const temporal = await temporalClient();
    const run = temporal.client.workflow.getHandle(orderWorkflowId({ accountId, clientOrderId }));
    await run.result();
    await system.venue.report(fill('2', '5'));
    await orderIs(clientOrderId, { cumulativeQuantity: '6', status: 'FILLED', overfilled: true });
    expect((await position())['quantity']).toBe('6');
    const late = temporal.client.workflow.getHandle(lateExecutionsWorkflowId({ accountId, clientOrderId }));
    await late.result();
    await temporal.close();
  });

  test('a fill of an unknown order is parked, and applied when the order appears', async () => {
    const body = aBody();
    const key = { accountId: client.accountId, clientOrderId: body.clientOrderId };
    await system.venue.report(anEvent({ ...key, executionId: `${body.clientOrderId}-1`, quantity: '4' }));
    const parked = () =>
      system.database.pool.query('select 1 from parked_executions where account_id = $1', [client.accountId]);
    await waitFor('the fill to be parked', async () => (await parked()).rowCount === 1);
    expect((await position())['code']).toBe('POSITION_NOT_FOUND');
    await client.submit(body);
    await orderIs(body.clientOrderId, { cumulativeQuantity: '4' });
    expect((await parked()).rowCount).toBe(0);
    expect((await position())['quantity']).toBe('4');
  });

  test('a parked fill that an operator adopts fills its order, whose run learns of it and ends', async () => {
    const { accountId, clientOrderId, fill } = await openOrder({ quantity: '4' });
    // Acknowledged, its run has no timer that would look at the order.
    const acknowledged = { accountId, clientOrderId, executionId: `${clientOrderId}-n` };
    await system.venue.report(anAcknowledgement(acknowledged));
    await orderIs(clientOrderId, { status: 'NEW' });
    const misspelt = { ...fill('1', '4'), clientOrderId: `${clientOrderId}-x` };
    await system.venue.report(misspelt);
    const listed = await waitFor('the fill to be listed', async () => {
      const line = await tekil('executions', 'list', '--account', accountId);
      return line !== '' && line;
    });
    const [id = ''] = listed.split(' ');
    const words = ['--account', accountId, '--order', clientOrderId, '--reason', 'the bridge misspelt it'];
    expect(await tekil('executions', 'adopt', id, ...words)).toContain(`adopt ${id}: applied, decided by `);
    await orderIs(clientOrderId, { status: 'FILLED', cumulativeQuantity: '4' });
    const temporal = await temporalClient();
    const run = temporal.client.workflow.getHandle(orderWorkflowId({ accountId, clientOrderId }));
    try {
      await waitFor('the run to have ended', async () => (await run.describe()).status.name === 'COMPLETED');
    } finally {
      await temporal.close();
    }
    expect(await tekil('executions', 'list', '--account', accountId)).toBe('');
  });

  // https://github.com/erdewit/ib_insync/issues/364
  test('a bust voids its fill, a correction replaces it, and resends of both change nothing', async () => {
    const { accountId, clientOrderId, fill } = await openOrder({ quantity: '1000' });
    const amend = (
      type: 'BUST' | 'CORRECT',
      executionId: string,
      ref: string,
      quantity?: string,
    ): ExecutionEvent => {
      const { quantity: _quantity, price: _price, ...event } = fill(executionId, '1');
      const trade = quantity === undefined ? {} : { quantity, price: '1.2' };
      return { ...event, type, refExecutionId: `${clientOrderId}-${ref}`, ...trade };
    };
    const events = [
      fill('1', '100'),
      fill('2', '50'),
      amend('CORRECT', '1c', '1', '80'),
      amend('BUST', '2b', '2'),
      // A correction that arrives before the fill that it corrects.
      amend('CORRECT', '3c', '3', '7'),
      fill('3', '9'),
    ];
    await system.venue.report(...events, ...events, ...events.toReversed());
    await orderIs(clientOrderId, { cumulativeQuantity: '87' });
    expect(await position()).toMatchObject({ quantity: '87', averagePrice: '1.2' });
    const { fills } = await accountRows(system.database.pool, accountId);
    expect(fills).toHaveLength(3);
  });

  test('a known execution id with other content is put aside, never applied, and the order shows it', async () => {
    const { clientOrderId, fill } = await openOrder();
    await system.venue.report(fill('1', '4'));
    await orderIs(clientOrderId, { cumulativeQuantity: '4' });
    await system.venue.report(fill('1', '5'), fill('2', '1'));
    const order = await orderIs(clientOrderId, { cumulativeQuantity: '5' });
    expect(order['attention']).toBe(`execution ${clientOrderId}-1 came again with other content`);
    const { rows } = await system.database.pool.query(
      'select reason, payload from quarantined_events where client_order_id = $1',
      [clientOrderId],
    );
    expect(rows).toMatchObject([
      { reason: 'conflict', payload: expect.stringContaining('"quantity":"5"') as string },
    ]);
  });

  test('a cancel is asked for once, and a fill that crosses it is booked', async () => {
    const { clientOrderId, fill, ...order } = await openOrder();
    const path = `/v1/orders/${clientOrderId}/cancel`;
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect((await client.request('POST', path)).status).toBe(202);
    await system.venue.awaitCommand(clientOrderId, 'CANCEL');
    const { body: _body, ...key } = order;
    const cancelled = {
      ...anAcknowledgement({ ...key, clientOrderId, executionId: `${clientOrderId}-x` }),
      type: 'CANCELLED' as const,
    };
    await system.venue.report(cancelled, fill('1', '4'));
    await orderIs(clientOrderId, { status: 'CANCELLED', cumulativeQuantity: '4' });
    expect(system.venue.commands(clientOrderId)).toEqual(['NEW_ORDER', 'CANCEL']);
    expect((await client.request('POST', path)).status).toBe(200);
    expect((await position())['quantity']).toBe('4');
  });

  // https://github.com/enarjord/passivbot/issues/514
  test('a cancel that the venue refuses, because it had filled the order, leads to the fill that was not heard', async () => {
    const { clientOrderId, accountId, fill } = await openOrder({ quantity: '10' });
    const refusal = {
      ...anAcknowledgement({ accountId, clientOrderId, executionId: `${clientOrderId}-refusal` }),
      type: 'CANCEL_REJECTED' as const,
      reason: 'too late',
    };
    const cancel = async () => (await client.request('POST', `/v1/orders/${clientOrderId}/cancel`)).status;
    expect(await cancel()).toBe(202);
    await system.venue.awaitCommand(clientOrderId, 'CANCEL');
    await system.venue.report(refusal, refusal, refusal);
    await orderIs(clientOrderId, { cancelRejections: 1, cancelRequestedAt: undefined });
    await system.venue.awaitCommand(clientOrderId, 'STATUS_REQUEST');
    // The client may wish for it again; a repeat of that wish is one command, too.
    expect(await cancel()).toBe(202);
    expect(await cancel()).toBe(202);
    await waitFor('the second cancel', () => system.venue.commands(clientOrderId).length === 4);
    await system.venue.report(refusal, fill('1', '10'));
    await orderIs(clientOrderId, { status: 'FILLED', cancelRejections: 1, attention: null });
    expect(system.venue.commands(clientOrderId)).toEqual(['NEW_ORDER', 'CANCEL', 'STATUS_REQUEST', 'CANCEL']);
    expect((await position())['quantity']).toBe('10');
  });

  test('a filled order refuses a cancel', async () => {
    const { clientOrderId, fill } = await openOrder({ quantity: '1' });
    await system.venue.report(fill('1', '1'));
    await orderIs(clientOrderId, { status: 'FILLED' });
    const answer = await client.request('POST', `/v1/orders/${clientOrderId}/cancel`);
    expect(answer.json).toMatchObject({ status: 409, code: 'ORDER_NOT_CANCELLABLE', orderStatus: 'FILLED' });
  });

  const commandsPublished = async (): Promise<number> => {
    const offsets = await system.topics.admin.fetchTopicOffsets(system.topics.names.venueCommands);
    return offsets.reduce((sum, { high }) => sum + Number(high), 0);
  };

  test('a run that is reset to its first task leaves every row as it was, and sends nothing again', async () => {
    const { accountId, clientOrderId, fill } = await openOrder({ quantity: '3' });
    await system.venue.report(fill('1', '1'), fill('2', '2'));
    await orderIs(clientOrderId, { status: 'FILLED' });
    const temporal = await temporalClient();
    const workflowId = orderWorkflowId({ accountId, clientOrderId });
    await temporal.client.workflow.getHandle(workflowId).result();
    const before = await accountRows(system.database.pool, accountId);
    const published = await commandsPublished();
    await temporal.resetToFirstTask(workflowId);
    expect(await temporal.client.workflow.getHandle(workflowId).result()).toMatchObject({
      status: 'FILLED',
      cumulativeQuantity: '3',
    });
    expect(await accountRows(system.database.pool, accountId)).toEqual(before);
    expect(await commandsPublished()).toBe(published);
    await temporal.close();
  });

  test('the whole topic read again by a new group changes no row, signals nobody, and counts every event', async () => {
    const { accountId, clientOrderId, fill } = await openOrder({ quantity: '3' });
    const [first, second] = [fill('1', '1'), fill('2', '2')];
    await system.venue.report(first, second);
    await orderIs(clientOrderId, { status: 'FILLED' });
    // Set aside: one of each kind that can be read.
    const unknown = { ...fill('p', '1'), clientOrderId: `${clientOrderId}-unknown` };
    await system.venue.report({ ...first, quantity: '9' }, fill('w', '1', { side: 'sell' }), unknown);
    await waitFor('three events to be set aside', async () => {
      const { rowCount } = await system.database.pool.query(
        `select 1 from quarantined_events where account_id = $1
         union all select 1 from parked_executions where account_id = $1`,
        [accountId],
      );
      return rowCount === 3;
    });
    await waitFor(
      'the bridge to have committed',
      async () => (await system.topics.lagOf(`${system.topics.prefix}bridge`)) === 0,
    );
    const tables = [
      'orders',
      'fills',
      'positions',
      'processed_events',
      'order_events',
      'parked_executions',
      'quarantined_events',
    ];
    const snapshot = () =>
      Promise.all(
        tables.map(async (table) => {
          const { rows } = await system.database.pool.query<object>(
            `select * from ${table} t order by t::text`,
          );
          return rows;
        }),
      );
    const before = await snapshot();
    const offsets = await system.topics.admin.fetchTopicOffsets(system.topics.names.executions);
    const total = offsets.reduce((sum, { high }) => sum + Number(high), 0);
    const group = `${system.topics.prefix}replay`;
    const replay = await system.start('fill-bridge', { KAFKA_EXECUTIONS_GROUP_ID: group });
    await waitFor('the replay to end', async () => (await system.topics.lagOf(group)) === 0);
    expect(await replay.metric(DUPLICATES)).toBe(total);
    expect(await replay.metric('tekil_bridge_signals_total')).toBe(0);
    expect(await snapshot()).toEqual(before);
    await replay.stop();
  });
});

describe('a bridge that is killed after Temporal has accepted and before the offset is committed', () => {
  test('delivers the fills again, which are booked once and counted as repeats', async () => {
    const system = await startSystem({ services: ['quote-health', 'order-api'] });
    const client = await system.client();
    const body = aBody({ quantity: '3' });
    await client.submit(body);
    const order = { accountId: client.accountId, clientOrderId: body.clientOrderId };
    const doomed = await system.start('fill-bridge', {}, 'test/support/killed-fill-bridge.ts');
    await system.venue.report(
      anEvent({ ...order, executionId: `${body.clientOrderId}-1`, quantity: '3', price: '1.1' }),
    );
    expect(await doomed.exited).toBe('SIGKILL');
    const filled = () =>
      waitFor('the order to be filled', async () => {
        const { json } = await client.request('GET', `/v1/orders/${body.clientOrderId}`);
        return json['status'] === 'FILLED';
      });
    await filled();
    const group = `${system.topics.prefix}bridge`;
    expect(await system.topics.lagOf(group)).toBe(1);
    const bridge = await system.start('fill-bridge');
    await waitFor('the repeat to be committed', async () => (await system.topics.lagOf(group)) === 0);
    expect(await bridge.metric(DUPLICATES, { type: 'FILL' })).toBe(1);
    const { json } = await client.request('GET', '/v1/positions/EURUSD');
    expect(json).toMatchObject({ quantity: '3', averagePrice: '1.1' });
    await system.stop();
  });
});
