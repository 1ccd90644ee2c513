import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createApiKey, revokeApiKey } from '../../src/db/api-keys';
import type { Pool, Statement } from '../../src/db/pool';
import { createApp } from '../../src/http/app';
import { KEY_CACHE_TTL_MS } from '../../src/http/auth';
import { startApiServer } from '../../src/http/server';
import { serve } from '../../src/http/serve';
import { anOrder, send, startHttpApi, type HttpApi, type HttpClient } from '../support/http-api';
import { waitFor } from '../support/wait-for';

const JSON_TYPE = { 'content-type': 'application/json' };

describe('the manners of the API', () => {
  let api: HttpApi;
  let client: HttpClient;
  beforeAll(async () => {
    api = await startHttpApi();
    client = await api.client();
  });
  afterAll(() => api.stop());

  const raw = (body: string | Buffer, headers: Readonly<Record<string, string>> = JSON_TYPE) =>
    client.call('POST', '/v1/orders', { headers, body });

  describe('authentication', () => {
    const withHeader = (authorization?: string) =>
      send(api.port, 'GET', '/v1/orders', { headers: authorization === undefined ? {} : { authorization } });

    test.each([
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Bearer nonsense',
      'Bearer tk_0123456789abcdef_',
      `Bearer tk_0123456789abcdef_${'a'.repeat(43)}`,
      'Basic dGVraWw6dGVraWw=',
    ])('%j is refused and told what is asked for', async (authorization) => {
      const answer = await withHeader(authorization);
      expect(answer).toMatchObject({ status: 401, json: { code: 'UNAUTHENTICATED' } });
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    });

    test('a key with one character changed is refused', async () => {
      const last = client.key.endsWith('A') ? 'B' : 'A';
      expect((await withHeader(`Bearer ${client.key.slice(0, -1)}${last}`)).status).toBe(401);
    });

    test('the name of the scheme may be written in any case', async () => {
      expect((await withHeader(`bearer ${client.key}`)).status).toBe(200);
    });

    test('a path that does not exist is not told to strangers', async () => {
      expect((await send(api.port, 'GET', '/v1/nothing')).status).toBe(401);
    });

    test('a revoked key stops working within the time that look-ups are kept', async () => {
      const { key, keyId } = await createApiKey(api.pool, 'revoked');
      expect((await withHeader(`Bearer ${key}`)).status).toBe(200);
      await revokeApiKey(api.pool, keyId);
      const revokedAt = performance.now();
      await waitFor('the key to be refused', async () => {
        const { status } = await withHeader(`Bearer ${key}`);
        return status === 401;
      });
      expect(performance.now() - revokedAt).toBeLessThan(KEY_CACHE_TTL_MS + 500);
    });
  });

  describe('paths and methods', () => {
    test.each([
      ['PUT', '/v1/orders', 'GET, HEAD, POST'],
      ['DELETE', '/v1/orders/x', 'GET, HEAD'],
      ['GET', '/v1/orders/x/cancel', 'POST'],
      ['POST', '/v1/orders/x/events', 'GET, HEAD'],
      ['POST', '/v1/positions', 'GET, HEAD'],
      ['OPTIONS', '/v1/positions/EURUSD', 'GET, HEAD'],
    ])('%s %s is 405, only %s', async (method, path, allowed) => {
      const answer = await client.call(method, path);
      expect(answer).toMatchObject({ status: 405, json: { code: 'METHOD_NOT_ALLOWED' } });
      expect(answer.headers.allow).toBe(allowed);
    });

    test.each(['/', '/v1', '/v2/orders', '/v1/orders/', '/V1/orders', '//v1/orders', '/v1/orders//cancel'])(
      '%s is 404',
      async (path) => {
        expect(await client.get(path)).toMatchObject({ status: 404, json: { code: 'NOT_FOUND' } });
      },
    );

    test.each(['/v1/orders/%', '/v1/orders/%zz/cancel', '/v1/orders/%ff', '/v1/positions/%E0%A4%A'])(
      '%s cannot be read and is 400',
      async (path) => {
        const method = path.endsWith('cancel') ? 'POST' : 'GET';
        expect(await client.call(method, path)).toMatchObject({
          status: 400,
          json: { code: 'INVALID_PATH' },
        });
      },
    );

    test('HEAD answers as GET does, without a body', async () => {
      const head = await send(api.port, 'HEAD', '/v1/orders', {
        headers: { authorization: `Bearer ${client.key}` },
      });
      const get = await client.get('/v1/orders');
      expect(head).toMatchObject({ status: 200, body: '' });
      expect(head.headers['content-length']).toBe(get.headers['content-length']);
    });
  });

  describe('headers', () => {
    test('a sane request id is taken over, into the answer and the problem document', async () => {
      const headers = { 'x-request-id': 'my-request.1' };
      const answer = await client.call('GET', '/v1/orders/none', { headers });
      expect(answer.headers['x-request-id']).toBe('my-request.1');
      expect(answer.json['requestId']).toBe('my-request.1');
    });

    test.each(['', 'two words', 'x'.repeat(65), 'a"b', '{"a":1}'])(
      'the request id %j is replaced',
      async (given) => {
        const answer = await client.call('GET', '/v1/orders', { headers: { 'x-request-id': given } });
        expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      },
    );

    test('say that nothing may be sniffed, framed, run or kept, and not what serves them', async () => {
      const { headers } = await client.get('/v1/orders');
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'content-security-policy': "default-src 'none';frame-ancestors 'none'",
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      });
      expect(headers['strict-transport-security']).toContain('max-age=');
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers).not.toHaveProperty('etag');
    });

    test('that only answers carry are ignored in a request', async () => {
      const answer = await client.submit(anOrder(), {
        'idempotency-replayed': 'true',
        'x-account-id': 'someone-else',
      });
      expect(answer).toMatchObject({ status: 201, json: { accountId: client.accountId } });
      expect(answer.headers).not.toHaveProperty('idempotency-replayed');
    });

    test('an Idempotency-Key must be the clientOrderId', async () => {
      const order = anOrder();
      expect(await client.submit(order, { 'idempotency-key': 'another' })).toMatchObject({
        status: 400,
        json: { code: 'IDEMPOTENCY_KEY_MISMATCH' },
      });
      expect((await client.get(`/v1/orders/${order.clientOrderId}`)).status).toBe(404);
      expect((await client.submit(order, { 'idempotency-key': order.clientOrderId })).status).toBe(201);
    });
  });

  describe('bodies', () => {
    test.each([
      ['text/plain'],
      ['application/jsonx'],
      ['application/json; charset=latin1'],
      ['application/json;charset="utf-16"'],
      ['application/x-www-form-urlencoded'],
      [''],
    ])('of the type %j are 415', async (type) => {
      const answer = await raw(JSON.stringify(anOrder()), { 'content-type': type });
      expect(answer).toMatchObject({ status: 415, json: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
    });

    test.each([
      'Application/JSON',
      'application/json;charset=UTF-8',
      'application/json; charset="utf-8"; x=y',
    ])('of the type %j are read', async (type) => {
      expect((await raw(JSON.stringify(anOrder()), { 'content-type': type })).status).toBe(201);
    });

    test('that are compressed are 415', async () => {
      const body = gzipSync(JSON.stringify(anOrder()));
      expect((await raw(body, { ...JSON_TYPE, 'content-encoding': 'gzip' })).status).toBe(415);
    });

    test('beyond the limit are 413, whether or not they say how long they are', async () => {
      const body = JSON.stringify(anOrder({ symbol: 'X'.repeat(5_000) }));
      const answer = await raw(body);
      expect(answer).toMatchObject({ status: 413, json: { code: 'PAYLOAD_TOO_LARGE' } });
      expect(answer.json['detail']).toContain('4096 bytes');
      expect((await raw(body, { ...JSON_TYPE, 'transfer-encoding': 'chunked' })).status).toBe(413);
    });

    test.each([
      ['nothing', ''],
      ['half of one', '{"clientOrderId": "a"'],
      ['no JSON', 'hello'],
      ['two values', '{} {}'],
      ['a member twice', '{"symbol": "EURUSD", "symbol": "EURUSD"}'],
      ['one member in two spellings', '{"side": "buy", "\\u0073ide": "sell"}'],
      ['too deep a nest', '['.repeat(9) + ']'.repeat(9)],
    ])('that are %s are 400', async (_, body) => {
      expect(await raw(body)).toMatchObject({ status: 400, json: { code: 'MALFORMED_JSON' } });
    });

    test('that are not UTF-8 are 400', async () => {
      const body = Buffer.from(JSON.stringify(anOrder({ clientOrderId: 'ä' })), 'latin1');
      expect((await raw(body)).json['code']).toBe('MALFORMED_JSON');
    });

    test('with a number where a decimal belongs are told why that is refused', async () => {
      const answer = await client.submit(anOrder({ quantity: 10, limitPrice: 1.0845 }));
      const because = expect.stringContaining('a JSON number is refused') as unknown;
      expect(answer.json).toMatchObject({
        code: 'INVALID_REQUEST',
        errors: [
          { field: 'quantity', message: because },
          { field: 'limitPrice', message: because },
        ],
      });
    });

    test.each(['accountId', '__proto__', 'constructor', 'toString'])(
      'with the unknown member %s are refused by its name',
      async (name) => {
        const body = `${JSON.stringify(anOrder()).slice(0, -1)},${JSON.stringify(name)}:{"x":1}}`;
        expect(await raw(body)).toMatchObject({ status: 400, json: { errors: [{ field: name }] } });
      },
    );

    test.each(['null', '[]', '"order"', '1', 'true'])('that are %s are no order', async (body) => {
      expect((await raw(body)).json['code']).toBe('INVALID_REQUEST');
    });

    test('of an order with a fault store nothing', async () => {
      const order = anOrder({ quantity: '0' });
      expect((await client.submit(order)).status).toBe(400);
      expect((await client.get(`/v1/orders/${order.clientOrderId}`)).status).toBe(404);
    });
  });

  describe('failures', () => {
    test('an error that nobody expected is opaque to the client and whole in the log', async () => {
      const order = anOrder();
      await client.submit(order);
      api.gateway.onCancel = () => Promise.reject(new Error('the secret of the house'));
      const headers = { 'x-request-id': 'unexpected-1' };
      const answer = await client.call('POST', `/v1/orders/${order.clientOrderId}/cancel`, { headers });
      expect(answer).toMatchObject({ status: 500, json: { code: 'INTERNAL', requestId: 'unexpected-1' } });
      expect(answer.body).not.toContain('secret');
      const line = api.log.find(({ requestId, level }) => requestId === 'unexpected-1' && level === 50);
      expect(line).toMatchObject({
        err: {
          message: 'the secret of the house',
          stack: expect.stringContaining('http-manners') as unknown,
        },
      });
    });

    test('no log line holds a key', () => {
      expect(JSON.stringify(api.log)).not.toContain(client.key.slice(-20));
    });

    test('a request that takes too long is answered all the same, and only once', async () => {
      const reads: Promise<unknown>[] = [];
      const query = (statement: Statement): Promise<unknown> => {
        const read = api.pool.query(statement.text, [...(statement.values ?? [])]);
        reads.push(read);
        return read;
      };
      const pool = Object.assign(Object.create(api.pool) as Pool, { query });
      const app = createApp({ ...api.deps, pool, requestDeadlineMs: 100 });
      const listening = await serve(createServer(app), { host: '127.0.0.1', port: 0 });
      const order = anOrder();
      await client.submit(order);
      let finish = (): void => undefined;
      api.gateway.onCancel = () =>
        new Promise((resolve) => {
          finish = () => {
            resolve('requested');
          };
        });
      try {
        const answer = await send(listening.port, 'POST', `/v1/orders/${order.clientOrderId}/cancel`, {
          headers: { authorization: `Bearer ${client.key}` },
        });
        expect(answer).toMatchObject({ status: 503, json: { code: 'DEADLINE_EXCEEDED' } });
        expect(answer.headers['retry-after']).toBe('1');
        const errorsBefore = api.log.filter(({ level }) => level === 50);
        const readsBefore = reads.length;
        finish();
        await waitFor('the late answer to be made', () => reads.length > readsBefore);
        await Promise.all(reads);
        await new Promise((resolve) => setImmediate(resolve));
        expect(api.log.filter(({ level }) => level === 50)).toEqual(errorsBefore);
      } finally {
        await listening.close();
      }
    });
  });

  test('a client that dawdles over its headers is let go', async () => {
    const config = {
      API_HOST: '127.0.0.1',
      API_PORT: 0,
      API_BODY_LIMIT_BYTES: 4_096,
      API_ANSWER_DEADLINE_MS: 1_000,
      ORDER_ACCEPT_WINDOW_MS: 1_000,
    };
    const { pool, gateway, metrics, logger } = api.deps;
    const { executions, readPayload } = api.deps;
    const parts = { config, pool, gateway, executions, readPayload, metrics, logger };
    const listening = await startApiServer(parts);
    const socket = connect(listening.port, '127.0.0.1').setEncoding('utf8');
    socket.write('GET /v1/orders HTTP/1.1\r\nHost:');
    const [answer] = (await once(socket, 'data')) as [string];
    expect(answer).toContain('408 Request Timeout');
    await once(socket, 'close');
    await listening.close();
  });

  test('requests are measured by the pattern of their route, never by an order’s id', async () => {
    api.deps.metrics.registry.resetMetrics();
    await client.get('/v1/orders/some-order');
    await client.get('/nowhere');
    const metric = await waitFor('both to be measured', async () => {
      const { values } = await api.deps.metrics.httpRequestSeconds.get();
      const counts = values.filter(({ metricName }) => metricName?.endsWith('_count'));
      return counts.length === 2 && counts;
    });
    expect(metric.map(({ labels }) => labels)).toEqual([
      { route: '/v1/orders/:clientOrderId', method: 'GET', status: '404' },
      { route: 'unmatched', method: 'GET', status: '404' },
    ]);
  });
});
