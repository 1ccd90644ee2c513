import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decimal, decimalText } from '../../src/domain/decimal';
import { startPostgres, type PostgresServer } from '../../src/dev/postgres';
import { startTemporal, type TemporalServer } from '../../src/dev/temporal';
import { anEvent } from '../support/execution-events';
import type { ServiceProcess } from '../support/service-process';
import { aBody, startSystem, type ApiClient, type TestSystem } from '../support/system';
import { waitFor } from '../support/wait-for';

describe('when a server is down', () => {
  let dataDir: string;
  let postgres: PostgresServer;
  let temporal: TemporalServer;
  let system: TestSystem;
  let services: ServiceProcess[];
  let client: ApiClient;

  beforeAll(async () => {
    // Servers of this test's own: the others must not lose theirs.
    dataDir = mkdtempSync(join(tmpdir(), 'tekil-fault-'));
    [postgres, temporal] = await Promise.all([
      startPostgres({ dataDir, durable: false }),
      startTemporal({ dataDir, ui: false }),
    ]);
    process.env['DATABASE_URL'] = postgres.url;
    process.env['TEMPORAL_ADDRESS'] = temporal.address;
    system = await startSystem({ services: ['quote-health'], env: { BRIDGE_MAX_BACKOFF_MS: '500' } });
    services = [await system.start('order-api'), await system.start('fill-bridge')];
    client = await system.client();
  });
  afterAll(async () => {
    await system.stop();
    await Promise.all([postgres.stop(), temporal.stop()]);
    rmSync(dataDir, { recursive: true, force: true });
  });

  const opened = (body: Record<string, unknown>) =>
    waitFor('the order to be opened', async () => {
      const answer = await client.submit(body);
      return answer.status === 201 && answer;
    });

  const filled = (clientOrderId: string) =>
    waitFor('the order to be filled', async () => {
      const { json } = await client.request('GET', `/v1/orders/${clientOrderId}`);
      return json['status'] === 'FILLED';
    });

  const stillRunning = async (): Promise<void> => {
    for (const service of services) {
      const response = await fetch(`http://127.0.0.1:${service.adminPort}/healthz`);
      expect(response.status).toBe(200);
    }
  };

  const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));

  test('Temporal: known keys are answered, new ones get 503, fills wait, and all go on when it is back', async () => {
    const known = aBody({ quantity: '3' });
    const first = await opened(known);
    await system.venue.awaitCommand(known.clientOrderId, 'NEW_ORDER');
    await temporal.kill();

    expect(await client.submit(known)).toMatchObject({ status: 201, body: first.body, replayed: true });
    expect((await client.submit({ ...known, quantity: '4' })).status).toBe(422);
    const fresh = aBody();
    const refused = await client.submit(fresh);
    expect(refused.json).toMatchObject({ status: 503, code: 'TEMPORAL_UNAVAILABLE' });
    expect(refused.headers.get('retry-after')).toBe('1');
    const order = { accountId: client.accountId, clientOrderId: known.clientOrderId };
    await system.venue.report(anEvent({ ...order, executionId: `${known.clientOrderId}-1`, quantity: '3' }));
    await waitFor('the bridge to hold back', async () => {
      const bridge = services[1];
      return ((await bridge?.metric('tekil_bridge_retries_total')) ?? 0) > 0;
    });

    temporal = await startTemporal({ dataDir, ui: false, port: portOf(temporal.address) });
    await filled(known.clientOrderId);
    expect((await opened(fresh)).json['clientOrderId']).toBe(fresh.clientOrderId);
    expect((await client.request('GET', '/v1/positions/EURUSD')).json['quantity']).toBe('3');
    await stillRunning();
  });

  test('PostgreSQL: everything gets 503, fills wait, and all go on when it is back', async () => {
    const known = aBody({ quantity: '2' });
    const first = await opened(known);
    await system.venue.awaitCommand(known.clientOrderId, 'NEW_ORDER');
    const before = (await client.request('GET', '/v1/positions/EURUSD')).json['quantity'];
    await postgres.kill();

    const fresh = aBody();
    for (const body of [known, fresh]) {
      const refused = await client.submit(body);
      expect(refused.json).toMatchObject({ status: 503, code: 'DATABASE_UNAVAILABLE' });
      expect(refused.headers.get('retry-after')).toBe('1');
    }
    const order = { accountId: client.accountId, clientOrderId: known.clientOrderId };
    await system.venue.report(anEvent({ ...order, executionId: `${known.clientOrderId}-1`, quantity: '2' }));

    postgres = await startPostgres({ dataDir, durable: false, port: portOf(new URL(postgres.url).host) });
    await filled(known.clientOrderId);
    expect(await client.submit(known)).toMatchObject({ status: 201, body: first.body, replayed: true });
    await opened(fresh);
    const after = (await client.request('GET', '/v1/positions/EURUSD')).json['quantity'];
    expect(decimalText(decimal(String(after)).minus(String(before)))).toBe('2');
    await stillRunning();
  });
});
