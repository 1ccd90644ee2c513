import { connect } from 'node:net';
import { createServer } from 'node:http';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { createPool } from '../../src/db/pool';
import { createApp } from '../../src/http/app';
import { serve } from '../../src/http/serve';
import { silentLogger } from '../../src/observability/logger';
import { TemporalUnavailableError } from '../../src/temporal/order-gateway';
import { anOrder, send, startHttpApi, type HttpApi, type HttpClient } from '../support/http-api';
import { waitFor } from '../support/wait-for';

const STALE = { code: 'STALE_QUOTE', detail: 'stale quote: 1240 ms', facts: { silenceMs: 1240 } } as const;
/** Long, so that half of it is much for what need not wait. */
const ANSWER_DEADLINE_MS = 1_500;

describe('submitting an order over HTTP', () => {
  let api: HttpApi;
  let client: HttpClient;
  beforeAll(async () => {
    api = await startHttpApi({ answerDeadlineMs: ANSWER_DEADLINE_MS });
    client = await api.client();
  });
  afterEach(() => {
    expect(api.gateway.waiting).toBe(0);
    api.gateway.onStart = (command) => api.gateway.openHere(command);
    api.gateway.acceptBy = undefined;
  });
  afterAll(() => api.stop());

  const startsOf = (clientOrderId: string): readonly OpenOrderCommand[] =>
    api.gateway.starts.filter(({ request }) => request.clientOrderId === clientOrderId);
  const rowsOf = async (clientOrderId: string): Promise<readonly unknown[]> => {
    const { rows } = await api.pool.query<Record<string, unknown>>(
      'select k.*, o.* from orders o full join idempotency_keys k using (client_order_id) where client_order_id = $1',
      [clientOrderId],
    );
    return rows;
  };
  const databaseNow = async (): Promise<number> => {
    const { rows } = await api.pool.query<{ now: Date }>('select clock_timestamp() as now');
    return rows[0]!.now.getTime();
  };

  test('the first answer is 201 with the order and its place', async () => {
    const order = anOrder({ clientOrderId: 'a/b:c%2F d'.replace(' ', '') });
    const answer = await client.submit(order);
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({ ...order, accountId: client.accountId, status: 'PENDING_NEW' });
    expect(answer.headers['idempotency-replayed']).toBeUndefined();
    const place = answer.headers.location ?? '';
    expect(place).toBe('/v1/orders/a%2Fb%3Ac%252Fd');
    expect((await client.get(place)).json).toEqual(answer.json);
  });

  test('a repeat gets the first answer byte for byte, and Temporal hears nothing of it', async () => {
    const order = anOrder();
    const first = await client.submit(order);
    await api.pool.query("update orders set status = 'NEW' where client_order_id = $1", [
      order.clientOrderId,
    ]);
    const again = await client.submit(order, { 'idempotency-key': order.clientOrderId });
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.headers.location).toBe(first.headers.location);
    expect(startsOf(order.clientOrderId)).toHaveLength(1);
  });

  test('a refusal is a stored answer like any other', async () => {
    api.gateway.onStart = (command) => api.gateway.openHere(command, STALE);
    const order = anOrder();
    const first = await client.submit(order);
    expect(first.status).toBe(409);
    expect(first.headers['content-type']).toBe('application/problem+json');
    expect(first.json).toMatchObject({ code: 'STALE_QUOTE', status: 409, silenceMs: 1240 });
    const again = await client.submit(order);
    expect(again).toMatchObject({ status: 409, body: first.body });
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.headers['content-type']).toBe('application/problem+json');
  });

  test('another request under the key is refused with the fields that differ, and changes nothing', async () => {
    const order = anOrder();
    await client.submit(order);
    const before = await rowsOf(order.clientOrderId);
    const other = {
      ...order,
      quantity: '1',
      limitPrice: '1.0846',
      timeInForce: 'gtd',
      expireAt: '2030-01-01T00:00:00Z',
    };
    const answer = await client.submit(other);
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
      fields: ['quantity', 'limitPrice', 'timeInForce', 'expireAt'],
    });
    expect(await rowsOf(order.clientOrderId)).toEqual(before);
    expect(startsOf(order.clientOrderId)).toHaveLength(1);
  });

  test('an answer that somebody else was first to is marked as replayed', async () => {
    const order = anOrder();
    api.gateway.onStart = (command) => api.gateway.openHere({ ...command, requestId: 'the first one' });
    const answer = await client.submit(order);
    expect(answer.status).toBe(201);
    expect(answer.headers['idempotency-replayed']).toBe('true');
  });

  test('an answer to somebody else’s request under the key is never given: it is 422', async () => {
    const order = anOrder();
    api.gateway.onStart = async (command) => {
      const request = { ...command.request, quantity: '77' };
      return api.gateway.openHere({ ...command, request, requestId: 'x', requestHash: 'ab'.repeat(32) });
    };
    const answer = await client.submit(order);
    expect(answer.json).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED', fields: ['quantity'] });
  });

  test('an answer that is written elsewhere is read from its row', async () => {
    const order = anOrder();
    api.gateway.onStart = (command) => {
      setTimeout(() => void api.gateway.open(command), 60);
      return Promise.resolve('elsewhere');
    };
    const answer = await client.submit(order);
    expect(answer.status).toBe(201);
    expect(answer.headers['idempotency-replayed']).toBeUndefined();
  });

  test('an order whose outcome is not known in time is 202; sending it again later gives the answer', async () => {
    const order = anOrder();
    api.gateway.onStart = () => Promise.resolve('here');
    const startedAt = performance.now();
    const pending = await client.submit(order);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(ANSWER_DEADLINE_MS);
    expect(pending.status).toBe(202);
    expect(pending.headers).toMatchObject({
      location: `/v1/orders/${order.clientOrderId}`,
      'retry-after': '1',
    });
    expect(pending.json).toMatchObject({ clientOrderId: order.clientOrderId, outcome: 'pending' });
    await api.gateway.open(startsOf(order.clientOrderId)[0]!);
    expect((await client.submit(order)).status).toBe(201);
  });

  test('the acceptance deadline is counted by the clock of the database', async () => {
    const before = await databaseNow();
    const order = anOrder();
    await client.submit(order);
    const acceptBy = Date.parse(startsOf(order.clientOrderId)[0]!.acceptBy);
    expect(acceptBy).toBeGreaterThanOrEqual(before + 10_000);
    expect(acceptBy).toBeLessThanOrEqual((await databaseNow()) + 10_000);
  });

  test('the wait ends when the client has left; the order goes on', async () => {
    const order = anOrder();
    api.gateway.onStart = () => Promise.resolve('here');
    const body = JSON.stringify(order);
    const socket = connect(api.port, '127.0.0.1');
    socket.write(
      `POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await waitFor('the wait to begin', () => api.gateway.waiting === 1);
    const leftAt = performance.now();
    socket.destroy();
    await waitFor('the wait to end', () => api.gateway.waiting === 0);
    expect(performance.now() - leftAt).toBeLessThan(ANSWER_DEADLINE_MS / 2);
    await api.gateway.open(startsOf(order.clientOrderId)[0]!);
    expect((await client.submit(order)).status).toBe(201);
  });

  describe('whose run has ended', () => {
    test('gives the answer that the run has left', async () => {
      const order = anOrder();
      api.gateway.onStart = async (command) => {
        await api.gateway.open({ ...command, requestId: 'the run' });
        return 'closed';
      };
      const answer = await client.submit(order);
      expect(answer.status).toBe(201);
      expect(answer.headers['idempotency-replayed']).toBe('true');
    });

    test('without an answer is undecided while the run could have opened it', async () => {
      api.gateway.onStart = () => Promise.resolve('closed');
      api.gateway.acceptBy = new Date((await databaseNow()) + 60_000).toISOString();
      const order = anOrder();
      expect((await client.submit(order)).status).toBe(202);
      expect(await rowsOf(order.clientOrderId)).toEqual([]);
    });

    test('without an answer is refused for good once nothing can open it any more', async () => {
      api.gateway.onStart = () => Promise.resolve('closed');
      api.gateway.acceptBy = new Date((await databaseNow()) - 1).toISOString();
      const order = anOrder();
      const answer = await client.submit(order);
      expect(answer.status).toBe(409);
      expect(answer.json).toMatchObject({ code: 'ABANDONED', clientOrderId: order.clientOrderId });
      api.gateway.onStart = (command) => api.gateway.openHere(command);
      const again = await client.submit(order);
      expect(again).toMatchObject({ status: 409, body: answer.body });
      expect(again.headers['idempotency-replayed']).toBe('true');
    });
  });

  describe('whose key row is already purged', () => {
    const purge = (clientOrderId: string): Promise<unknown> =>
      api.pool.query('delete from idempotency_keys where client_order_id = $1', [clientOrderId]);

    test('is answered from the order as it stands', async () => {
      const order = anOrder();
      await client.submit(order);
      await purge(order.clientOrderId);
      await api.pool.query("update orders set status = 'NEW' where client_order_id = $1", [
        order.clientOrderId,
      ]);
      const again = await client.submit(order);
      expect(again).toMatchObject({ status: 201, json: { status: 'NEW' } });
      expect(again.headers['idempotency-replayed']).toBe('true');
      expect(startsOf(order.clientOrderId)).toHaveLength(1);
    });

    test('stays refused', async () => {
      api.gateway.onStart = (command) => api.gateway.openHere(command, STALE);
      const order = anOrder();
      await client.submit(order);
      await purge(order.clientOrderId);
      const again = await client.submit(order);
      expect(again).toMatchObject({ status: 409, json: { code: 'STALE_QUOTE' } });
      expect(again.headers['idempotency-replayed']).toBe('true');
    });

    test('still refuses another request', async () => {
      const order = anOrder();
      await client.submit(order);
      await purge(order.clientOrderId);
      expect((await client.submit({ ...order, side: 'sell' })).json).toMatchObject({ fields: ['side'] });
    });
  });

  test('without Temporal a known key is answered and a new one is 503, with nothing stored', async () => {
    const known = anOrder();
    const first = await client.submit(known);
    api.gateway.onStart = () => Promise.reject(new TemporalUnavailableError('no answer within 3000 ms'));
    expect((await client.submit(known)).body).toBe(first.body);
    const order = anOrder();
    const refused = await client.submit(order);
    expect(refused).toMatchObject({ status: 503, json: { code: 'TEMPORAL_UNAVAILABLE' } });
    expect(refused.headers['retry-after']).toBe('1');
    expect(await rowsOf(order.clientOrderId)).toEqual([]);
    api.gateway.onStart = (command) => api.gateway.openHere(command);
    expect((await client.submit(order)).status).toBe(201);
  });

  test('without the database it is 503, and the cause is logged', async () => {
    const refusing = await serve(
      createServer().on('connection', (socket) => socket.end()),
      { host: '127.0.0.1', port: 0 },
    );
    const pool = createPool(
      {
        connectionString: `postgres://nobody@127.0.0.1:${refusing.port}/nothing`,
        size: 1,
        statementTimeoutMs: 1_000,
        connectTimeoutMs: 1_000,
        applicationName: 'tekil test',
      },
      silentLogger(),
    );
    const app = createApp({ ...api.deps, pool });
    const listening = await serve(createServer(app), { host: '127.0.0.1', port: 0 });
    try {
      const answer = await send(listening.port, 'POST', '/v1/orders', {
        headers: {
          authorization: `Bearer ${client.key}`,
          'content-type': 'application/json',
          'x-request-id': 'no-database',
        },
        body: JSON.stringify(anOrder()),
      });
      expect(answer).toMatchObject({ status: 503, json: { code: 'DATABASE_UNAVAILABLE' } });
      expect(answer.headers['retry-after']).toBe('1');
      expect(api.log).toContainEqual(
        expect.objectContaining({ requestId: 'no-database', code: 'DATABASE_UNAVAILABLE' }),
      );
    } finally {
      await listening.close();
      await pool.end();
      await refusing.close();
    }
  });

  test('the key of one account says nothing about another account', async () => {
    const other = await api.client();
    const order = anOrder();
    await client.submit(order);
    const answer = await other.submit({ ...order, quantity: '7' });
    expect(answer).toMatchObject({ status: 201, json: { quantity: '7', accountId: other.accountId } });
    expect(answer.headers['idempotency-replayed']).toBeUndefined();
  });

  test('answers and repeats are counted', async () => {
    const { metrics } = api.deps;
    const count = async (name: string): Promise<unknown> =>
      (await metrics.registry.getSingleMetric(name)?.get())?.values;
    metrics.registry.resetMetrics();
    const order = anOrder();
    await client.submit(order);
    await client.submit(order);
    await client.submit({ ...order, side: 'sell' });
    api.gateway.onStart = (command) => api.gateway.openHere(command, STALE);
    await client.submit(anOrder());
    expect(await count('tekil_orders_answered_total')).toEqual([
      expect.objectContaining({ value: 1, labels: { outcome: 'opened', code: '' } }),
      expect.objectContaining({ value: 1, labels: { outcome: 'refused', code: 'STALE_QUOTE' } }),
    ]);
    expect(await count('tekil_duplicate_orders_total')).toEqual([
      expect.objectContaining({ value: 1, labels: { outcome: 'replayed' } }),
      expect.objectContaining({ value: 1, labels: { outcome: 'reused' } }),
    ]);
    const measured = await metrics.orderAnswerSeconds.get();
    const counts = measured.values.filter(({ metricName }) => metricName?.endsWith('_count'));
    expect(counts.map(({ labels, value }) => [labels.outcome, value])).toEqual([
      ['opened', 1],
      ['replayed', 1],
      ['reused', 1],
      ['refused', 1],
    ]);
  });
});
