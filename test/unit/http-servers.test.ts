import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { startAdminServer, type AdminServerOptions } from '../../src/http/admin-server';
import { serve, type Listening } from '../../src/http/serve';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import { waitFor } from '../support/wait-for';

const LOCAL = { host: '127.0.0.1', port: 0 };

interface Setup {
  readonly listening: Listening;
  /** The answers that are owed, in the order in which they were asked for. */
  readonly owed: ServerResponse[];
  readonly ask: () => Promise<string>;
}

describe('a server that closes', () => {
  const agents: Agent[] = [];
  afterEach(() => {
    for (const agent of agents.splice(0)) agent.destroy();
  });

  async function setup(closeTimeoutMs?: number): Promise<Setup> {
    const owed: ServerResponse[] = [];
    const server = createServer({ keepAliveTimeout: 60_000 }, (_, response) => void owed.push(response));
    const listening = await serve(server, LOCAL, closeTimeoutMs);
    const agent = new Agent({ keepAlive: true });
    agents.push(agent);
    const ask = (): Promise<string> =>
      new Promise((resolve, reject) => {
        request({ ...LOCAL, port: listening.port, agent }, (response: IncomingMessage) => {
          response.resume().once('end', () => {
            resolve(`${response.statusCode ?? 0}`);
          });
        })
          .once('error', (error: Error) => {
            reject(error);
          })
          .end();
      });
    return { listening, owed, ask };
  }

  test('finishes the answers in flight, then ends although their connections are kept alive', async () => {
    const { listening, owed, ask } = await setup();
    const answer = ask();
    await waitFor('the request', () => owed.length === 1);
    const closed = listening.close();
    owed[0]?.end('late');
    expect(await answer).toBe('200');
    const answeredAt = performance.now();
    await closed;
    expect(performance.now() - answeredAt).toBeLessThan(2_000);
  });

  test('takes no new connection', async () => {
    const { listening, owed, ask } = await setup();
    const answer = ask();
    await waitFor('the request', () => owed.length === 1);
    const closed = listening.close();
    const late = connect(listening.port, '127.0.0.1');
    const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
    owed[0]?.end();
    await answer;
    await closed;
  });

  test('does not wait for idle connections', async () => {
    const { listening, owed, ask } = await setup();
    const answer = ask();
    await waitFor('the request', () => owed.length === 1);
    owed[0]?.end();
    await answer;
    const startedAt = performance.now();
    await listening.close();
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  test('cuts off what is still not answered at its deadline', async () => {
    const { listening, owed, ask } = await setup(150);
    const answer = ask().catch((error: unknown) => (error as NodeJS.ErrnoException).code);
    await waitFor('the request', () => owed.length === 1);
    await listening.close();
    expect(await answer).toBe('ECONNRESET');
  });

  test('says so when its port is taken', async () => {
    const { listening } = await setup();
    const second = serve(createServer(), { host: '127.0.0.1', port: listening.port });
    await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await listening.close();
  });
});

describe('the admin server', () => {
  const started: Listening[] = [];
  afterEach(async () => {
    for (const listening of started.splice(0)) await listening.close();
  });

  async function admin(
    checks: AdminServerOptions['checks'] = {},
  ): Promise<(path: string) => Promise<Response>> {
    const metrics = createMetrics();
    metrics.ordersAnswered.inc({ outcome: 'opened', code: '' });
    const listening = await startAdminServer({ ...LOCAL, metrics, checks, logger: silentLogger() });
    started.push(listening);
    return (path) => fetch(`http://127.0.0.1:${listening.port}${path}`);
  }

  test('is alive whatever its checks say', async () => {
    const get = await admin({ database: () => Promise.reject(new Error('gone')) });
    expect((await get('/healthz')).status).toBe(200);
  });

  test('is ready when every check passes', async () => {
    const get = await admin({ database: () => Promise.resolve(), temporal: () => Promise.resolve() });
    const response = await get('/readyz?verbose');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ready: true, failing: {} });
  });

  test('names the checks that fail or do not answer, with their reasons', async () => {
    const get = await admin({
      database: () => Promise.reject(new Error('connection refused')),
      temporal: () => new Promise(() => undefined),
      kafka: () => Promise.resolve(),
    });
    const response = await get('/readyz');
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({
      ready: false,
      failing: { database: 'connection refused', temporal: 'did not answer within 2000 ms' },
    });
  });

  test('shows the metrics', async () => {
    const get = await admin();
    const response = await get('/metrics');
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect(await response.text()).toContain('tekil_orders_answered_total{outcome="opened",code=""} 1');
  });

  test('shows nothing else', async () => {
    const get = await admin();
    expect((await get('/')).status).toBe(404);
  });
});
