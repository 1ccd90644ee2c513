import { orderWorkflowId } from '../../src/domain/ids';
import { aBody, startSystem, type ApiClient, type TestSystem } from '../support/system';

describe('submitting an order', () => {
  let system: TestSystem;
  let client: ApiClient;
  beforeAll(async () => {
    system = await startSystem({ services: ['order-api', 'quote-health'] });
    client = await system.client();
  });
  afterAll(async () => {
    await system.stop();
  });

  const rowsOf = async (clientOrderId: string) => {
    const { rows } = await system.database.pool.query<{ orders: string; keys: string }>(
      `select (select count(*) from orders where client_order_id = $1) as "orders",
              (select count(*) from idempotency_keys where client_order_id = $1) as "keys"`,
      [clientOrderId],
    );
    return rows[0];
  };

  test('fifty times at once opens one order and gives one answer fifty times', async () => {
    const body = aBody();
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.submit(body)));
    expect(new Set(answers.map(({ body: text }) => text)).size).toBe(1);
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await rowsOf(body.clientOrderId)).toEqual({ orders: '1', keys: '1' });
    await system.venue.awaitCommand(body.clientOrderId, 'NEW_ORDER');
    // A second command would be behind the first on its partition; a later order shows that nothing is still on its way.
    const later = aBody();
    await client.submit(later);
    await system.venue.awaitCommand(later.clientOrderId, 'NEW_ORDER');
    expect(system.venue.commands(body.clientOrderId)).toEqual(['NEW_ORDER']);
  });

  test('fifty times at once with two bodies opens the one that the database took, and all agree', async () => {
    const bodies = [aBody({ quantity: '1' }), { ...aBody(), quantity: '10' }] as const;
    const same = { ...bodies[1], clientOrderId: bodies[0].clientOrderId };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => client.submit(index % 2 === 0 ? bodies[0] : same)),
    );
    const { rows } = await system.database.pool.query<{ quantity: string }>(
      'select quantity::text as "quantity" from orders where client_order_id = $1',
      [bodies[0].clientOrderId],
    );
    expect(rows).toHaveLength(1);
    const winner = rows[0]!.quantity === '1' ? 0 : 1;
    const won = answers.filter((_, index) => index % 2 === winner);
    const lost = answers.filter((_, index) => index % 2 !== winner);
    expect(won.map(({ status }) => status)).toEqual(Array(25).fill(201));
    expect(new Set(won.map(({ body }) => body)).size).toBe(1);
    expect(won.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(lost.map(({ status }) => status)).toEqual(Array(25).fill(422));
    expect(lost.every(({ json }) => json['code'] === 'IDEMPOTENCY_KEY_REUSED')).toBe(true);
    expect(lost[0]?.json['fields']).toEqual(['quantity']);
  });

  test('with 1, 1.0 and 1.00 and with reordered members is one request; with 10 it is another', async () => {
    const body = aBody({ quantity: '1' });
    const first = await client.submit(body);
    for (const quantity of ['1.0', '1.00']) {
      const again = await client.submit({ ...body, quantity });
      expect(again).toMatchObject({ status: 201, body: first.body, replayed: true });
    }
    const reordered = await client.submit(Object.fromEntries(Object.entries(body).toReversed()));
    expect(reordered).toMatchObject({ body: first.body, replayed: true });
    expect((await client.submit({ ...body, quantity: '10' })).status).toBe(422);
    expect((await client.submit(body)).body).toBe(first.body);
  });

  test('under a key that another account uses opens an order of its own, and neither sees the other', async () => {
    const other = await system.client();
    const body = aBody();
    const mine = await client.submit(body);
    const theirs = await other.submit({ ...body, quantity: '7' });
    expect(mine).toMatchObject({ status: 201, replayed: false });
    expect(theirs).toMatchObject({ status: 201, replayed: false });
    expect(theirs.json['quantity']).toBe('7');
    const id = encodeURIComponent(body.clientOrderId);
    expect((await other.request('GET', `/v1/orders/${id}`)).json['quantity']).toBe('7');
    expect((await client.request('GET', `/v1/orders/${id}`)).json['quantity']).toBe('10');

    const stranger = await system.client();
    for (const [method, path] of [
      ['GET', `/v1/orders/${id}`],
      ['GET', `/v1/orders/${id}/events`],
      ['POST', `/v1/orders/${id}/cancel`],
      ['GET', '/v1/positions/EURUSD'],
    ] as const) {
      const answer = await stranger.request(method, path);
      expect(answer.status).toBe(404);
      expect(answer.body).not.toContain(client.accountId);
    }
    expect((await stranger.request('GET', '/v1/orders')).json['orders']).toEqual([]);
    expect((await stranger.request('GET', '/v1/positions')).json['positions']).toEqual([]);
  });

  test('after its key row is purged is still a repeat, answered from the order as it stands', async () => {
    const body = aBody();
    await client.submit(body);
    await system.database.pool.query('delete from idempotency_keys where client_order_id = $1', [
      body.clientOrderId,
    ]);
    const again = await client.submit(body);
    expect(again).toMatchObject({ status: 201, replayed: true });
    expect(again.json['clientOrderId']).toBe(body.clientOrderId);
    expect((await client.submit({ ...body, side: 'sell' })).status).toBe(422);
    expect(await rowsOf(body.clientOrderId)).toEqual({ orders: '1', keys: '0' });
  });

  test('with a quote that has gone silent is refused, and the refusal is the answer of the key for good', async () => {
    system.feed.setMode('silent');
    const body = aBody();
    await system.awaitGate('closed');
    const refused = await client.submit(body);
    expect(refused.status).toBe(409);
    expect(refused.json).toMatchObject({ code: 'STALE_QUOTE', clientOrderId: body.clientOrderId });
    system.feed.setMode('ticks');
    await system.awaitGate('open');
    expect(await client.submit(body)).toMatchObject({ status: 409, body: refused.body, replayed: true });
    expect(system.venue.commands(body.clientOrderId)).toEqual([]);
    const { json } = await client.request('GET', `/v1/orders/${body.clientOrderId}`);
    expect(json).toMatchObject({ status: 'REFUSED', refusalCode: 'STALE_QUOTE' });
  });

  test('for a symbol that was never quoted is refused', async () => {
    const refused = await client.submit(aBody({ symbol: 'XAUUSD' }));
    expect(refused.json).toMatchObject({ code: 'NO_QUOTE', status: 409 });
  });

  test('with a client order id full of odd characters can be read and cancelled', async () => {
    const body = aBody({ clientOrderId: `a/b:c%2F?#${Date.now()}` });
    expect((await client.submit(body)).status).toBe(201);
    const path = `/v1/orders/${encodeURIComponent(body.clientOrderId)}`;
    expect((await client.request('GET', path)).json['clientOrderId']).toBe(body.clientOrderId);
    expect((await client.request('POST', `${path}/cancel`)).status).toBe(202);
    await system.venue.awaitCommand(body.clientOrderId, 'CANCEL');
    expect(orderWorkflowId({ accountId: client.accountId, clientOrderId: body.clientOrderId })).toContain(
      '%2F',
    );
  });
});
