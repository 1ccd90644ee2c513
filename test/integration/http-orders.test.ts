import { anOrder, startHttpApi, type HttpAnswer, type HttpApi, type HttpClient } from '../support/http-api';

describe('reading and cancelling orders over HTTP', () => {
  let api: HttpApi;
  let client: HttpClient;
  beforeAll(async () => {
    api = await startHttpApi();
  });
  beforeEach(async () => {
    client = await api.client();
    api.gateway.cancels.length = 0;
    api.gateway.onCancel = () => Promise.resolve('requested');
  });
  afterAll(() => api.stop());

  const opened = async (change: Readonly<Record<string, unknown>> = {}): Promise<string> => {
    const order = anOrder(change);
    expect((await client.submit(order)).status).toBe(201);
    return order.clientOrderId;
  };
  const setStatus = (clientOrderId: string, status: string): Promise<unknown> =>
    api.pool.query('update orders set status = $2 where client_order_id = $1', [clientOrderId, status]);
  const idsOf = ({ json }: HttpAnswer): readonly string[] =>
    (json['orders'] as readonly { readonly clientOrderId: string }[]).map((order) => order.clientOrderId);

  describe('an order', () => {
    test('is shown as it stands, with what applies to it and nothing else', async () => {
      const market = await opened({ type: 'market', limitPrice: undefined });
      const { json } = await client.get(`/v1/orders/${market}`);
      expect(json).not.toHaveProperty('limitPrice');
      expect(json).not.toHaveProperty('expireAt');
      expect(json).not.toHaveProperty('id');
      expect(json).not.toHaveProperty('requestHash');
      expect(json).toMatchObject({ averagePrice: null, cumulativeQuantity: '0', attention: null });
    });

    test('keeps its decimals and times exact', async () => {
      const clientOrderId = await opened({
        quantity: '0.000000000000000001',
        limitPrice: '-12345678901234567890.123456789012345678',
        timeInForce: 'gtd',
        expireAt: '2030-01-01T01:00:00.120+01:00',
      });
      await api.pool.query(
        `update orders set cumulative_quantity = 3, cumulative_cost = 10, cancel_requested_at = '2026-03-14T09:26:53.5Z',
                           venue_order_id = 'V-1', attention = 'look' where client_order_id = $1`,
        [clientOrderId],
      );
      const { json } = await client.get(`/v1/orders/${clientOrderId}`);
      expect(json).toMatchObject({
        quantity: '0.000000000000000001',
        limitPrice: '-12345678901234567890.123456789012345678',
        expireAt: '2030-01-01T00:00:00.12Z',
        cumulativeQuantity: '3',
        averagePrice: '3.333333333333333333',
        cancelRequestedAt: '2026-03-14T09:26:53.500000Z',
        venueOrderId: 'V-1',
        attention: 'look',
      });
    });

    test.each(['a/b', 'a:b', 'a%2Fb', '..%2F', '?x=1#y', '+&=', '~.-_', '%'])(
      'with the id %s is found by it',
      async (id) => {
        const clientOrderId = await opened({ clientOrderId: `${id}${client.accountId}` });
        const answer = await client.get(`/v1/orders/${encodeURIComponent(clientOrderId)}`);
        expect(answer).toMatchObject({ status: 200, json: { clientOrderId } });
      },
    );

    test.each(['nothing', '%00', '%C3%A4', 'a%20b', 'x'.repeat(129)])(
      'that does not exist (%s) is 404',
      async (id) => {
        expect(await client.get(`/v1/orders/${id}`)).toMatchObject({
          status: 404,
          json: { code: 'ORDER_NOT_FOUND' },
        });
      },
    );

    test('of another account is as if it did not exist, on every route', async () => {
      const clientOrderId = await opened();
      const stranger = await api.client();
      const sameAs = async (method: string, path: (id: string) => string): Promise<void> => {
        const headers = { 'x-request-id': 'same' };
        const theirs = await stranger.call(method, path(clientOrderId), { headers });
        const none = await stranger.call(method, path('no-such-order'), { headers });
        expect(theirs.status).toBe(404);
        expect(theirs.body).toBe(none.body);
      };
      await sameAs('GET', (id) => `/v1/orders/${id}`);
      await sameAs('GET', (id) => `/v1/orders/${id}/events`);
      await sameAs('POST', (id) => `/v1/orders/${id}/cancel`);
      expect(api.gateway.cancels).toEqual([]);
      expect(idsOf(await stranger.get('/v1/orders'))).toEqual([]);
    });
  });

  describe('the list of orders', () => {
    test('gives each order once, newest first, page by page', async () => {
      const ids: string[] = [];
      for (let count = 0; count < 5; count += 1) ids.unshift(await opened());
      const seen: string[] = [];
      let cursor = '';
      for (let pages = 1; ; pages += 1) {
        const page = await client.get(`/v1/orders?limit=2${cursor}`);
        seen.push(...idsOf(page));
        if (page.json['nextCursor'] === null) {
          expect(pages).toBe(3);
          break;
        }
        cursor = `&cursor=${page.json['nextCursor'] as string}`;
      }
      expect(seen).toEqual(ids);
    });

    test('ends with its last order, without a page of nothing behind it', async () => {
      await opened();
      await opened();
      expect((await client.get('/v1/orders?limit=2')).json['nextCursor']).toBeNull();
    });

    test('shows the orders of one status only, when asked', async () => {
      await opened();
      const filled = await opened();
      await setStatus(filled, 'FILLED');
      expect(idsOf(await client.get('/v1/orders?status=FILLED'))).toEqual([filled]);
      expect(idsOf(await client.get('/v1/orders?status=CANCELLED'))).toEqual([]);
    });

    test.each([
      ['status=DONE', 'status'],
      ['status=NEW&status=FILLED', 'status'],
      ['limit=0', 'limit'],
      ['limit=201', 'limit'],
      ['limit=1e1', 'limit'],
      ['limit=', 'limit'],
      ['cursor=', 'cursor'],
      ['cursor=!', 'cursor'],
      ['cursor=bm90LWFuLWlk', 'cursor'],
      ['cursor=OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5', 'cursor'],
      ['staus=NEW', 'staus'],
      ['__proto__=1', '__proto__'],
    ])('refuses ?%s and names %s', async (query, field) => {
      const answer = await client.get(`/v1/orders?${query}`);
      expect(answer).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST', errors: [{ field }] } });
    });

    test('takes pages of up to 200', async () => {
      expect((await client.get('/v1/orders?limit=200')).status).toBe(200);
    });
  });

  test.each([
    ['POST', '/v1/orders?dry=1'],
    ['GET', '/v1/orders/x?dry=1'],
    ['POST', '/v1/orders/x/cancel?dry=1'],
    ['GET', '/v1/orders/x/events?dry=1'],
    ['GET', '/v1/positions?dry=1'],
    ['GET', '/v1/positions/EURUSD?dry=1'],
  ])('%s %s is refused for its parameter', async (method, path) => {
    const answer = await client.call(method, path);
    expect(answer).toMatchObject({ status: 400, json: { errors: [{ field: 'dry' }] } });
  });

  describe('the events of an order', () => {
    test('come in order, page by page', async () => {
      const clientOrderId = await opened();
      await api.pool.query(
        `insert into order_events (account_id, client_order_id, sequence, type, detail)
         select $1, $2, n, 'NEW', '{"source": "SIM"}' from generate_series(2, 3) n`,
        [client.accountId, clientOrderId],
      );
      const first = await client.get(`/v1/orders/${clientOrderId}/events?limit=2`);
      expect(first.json['events']).toMatchObject([
        { sequence: 1, type: 'OPENED' },
        { sequence: 2, type: 'NEW', detail: { source: 'SIM' } },
      ]);
      const cursor = String(first.json['nextCursor']);
      const second = await client.get(`/v1/orders/${clientOrderId}/events?limit=2&cursor=${cursor}`);
      expect(second.json).toMatchObject({ events: [{ sequence: 3 }], nextCursor: null });
    });

    test('cannot be read from a cursor of another list', async () => {
      const clientOrderId = await opened();
      const cursor = Buffer.from('EURUSD').toString('base64url');
      const answer = await client.get(`/v1/orders/${clientOrderId}/events?cursor=${cursor}`);
      expect(answer).toMatchObject({ status: 400, json: { errors: [{ field: 'cursor' }] } });
    });
  });

  describe('a cancel', () => {
    const cancel = (clientOrderId: string): Promise<HttpAnswer> =>
      client.call('POST', `/v1/orders/${clientOrderId}/cancel`);

    test('of a working order is asked for, again and again, with the order as answer', async () => {
      const clientOrderId = await opened();
      for (let times = 1; times <= 2; times += 1) {
        expect(await cancel(clientOrderId)).toMatchObject({
          status: 202,
          json: { clientOrderId, status: 'PENDING_NEW' },
        });
        expect(api.gateway.cancels).toHaveLength(times);
      }
      expect(api.gateway.cancels[0]).toMatchObject({ accountId: client.accountId, clientOrderId });
    });

    test('shows what it changed', async () => {
      const clientOrderId = await opened();
      api.gateway.onCancel = async () => {
        await api.pool.query('update orders set cancel_requested_at = now() where client_order_id = $1', [
          clientOrderId,
        ]);
        return 'requested';
      };
      expect((await cancel(clientOrderId)).json).toHaveProperty('cancelRequestedAt');
    });

    test('of a cancelled order is 200 and reaches nobody', async () => {
      const clientOrderId = await opened();
      await setStatus(clientOrderId, 'CANCELLED');
      expect(await cancel(clientOrderId)).toMatchObject({ status: 200, json: { status: 'CANCELLED' } });
      expect(api.gateway.cancels).toEqual([]);
    });

    test.each(['FILLED', 'REJECTED', 'EXPIRED'])('of an order that is %s is 409 with it', async (status) => {
      const clientOrderId = await opened();
      await setStatus(clientOrderId, status);
      expect(await cancel(clientOrderId)).toMatchObject({
        status: 409,
        json: { code: 'ORDER_NOT_CANCELLABLE', clientOrderId, orderStatus: status },
      });
      expect(api.gateway.cancels).toEqual([]);
    });

    test.each([
      ['CANCELLED', 200],
      ['FILLED', 409],
    ])('that is overtaken by %s is answered by what the order became', async (status, expected) => {
      const clientOrderId = await opened();
      api.gateway.onCancel = async () => {
        await setStatus(clientOrderId, status);
        return 'closed';
      };
      expect((await cancel(clientOrderId)).status).toBe(expected);
    });

    test('that nothing can carry out any more is not promised', async () => {
      const clientOrderId = await opened();
      api.gateway.onCancel = () => Promise.resolve('closed');
      const answer = await cancel(clientOrderId);
      expect(answer).toMatchObject({ status: 409, json: { orderStatus: 'PENDING_NEW' } });
      expect(answer.json['detail']).toContain('operator');
    });
  });

  describe('positions', () => {
    const trade = (symbol: string, quantity: string, averagePrice: string | null): Promise<unknown> =>
      api.pool.query(
        `insert into positions (account_id, symbol, quantity, average_price, realised_profit)
         values ($1, $2, $3, $4, 12.50)`,
        [client.accountId, symbol, quantity, averagePrice],
      );

    test('are listed by symbol, page by page, exact', async () => {
      await trade('USDJPY', '0.000', null);
      await trade('EUR/USD', '-4.50', '1.084420000000000001');
      const first = await client.get('/v1/positions?limit=1');
      expect(first.json['positions']).toMatchObject([
        { symbol: 'EUR/USD', quantity: '-4.5', averagePrice: '1.084420000000000001', realisedProfit: '12.5' },
      ]);
      const second = await client.get(`/v1/positions?limit=1&cursor=${String(first.json['nextCursor'])}`);
      expect(second.json).toMatchObject({
        positions: [{ symbol: 'USDJPY', quantity: '0', averagePrice: null }],
        nextCursor: null,
      });
    });

    test('are found by symbol, and by their own account only', async () => {
      await trade('EUR/USD', '1', '1');
      expect(await client.get('/v1/positions/EUR%2FUSD')).toMatchObject({
        status: 200,
        json: { symbol: 'EUR/USD', accountId: client.accountId },
      });
      const stranger = await api.client();
      expect((await stranger.get('/v1/positions/EUR%2FUSD')).json['code']).toBe('POSITION_NOT_FOUND');
      expect((await stranger.get('/v1/positions')).json['positions']).toEqual([]);
    });

    test.each(['GBPUSD', 'eurusd', '%00', '%F0%9F%98%80'])('in %s, never traded, are 404', async (symbol) => {
      expect(await client.get(`/v1/positions/${symbol}`)).toMatchObject({
        status: 404,
        json: { code: 'POSITION_NOT_FOUND' },
      });
    });
  });
});
