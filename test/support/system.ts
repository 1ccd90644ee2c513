import { randomUUID } from 'node:crypto';
import { createApiKey } from '../../src/db/api-keys';
import { freePort } from '../../src/dev/ports';
import { SimulatedFeed } from '../../src/quotes/simulated-feed';
import { serverAddress } from './environment';
import { createTestTopics, type TestTopics } from './kafka-topics';
import { startService, type ServiceProcess } from './service-process';
import { createTestDatabase, type TestDatabase } from './test-database';
import { createTestVenue, type TestVenue } from './test-venue';
import { waitFor } from './wait-for';

export type ServiceName = 'order-api' | 'order-worker' | 'fill-bridge' | 'quote-health';

export const SYMBOL = 'EURUSD';

/** An answer of the API, with its body byte for byte. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
  readonly headers: Headers;
  readonly json: Record<string, unknown>;
}

/** One account's view of the API. */
export interface ApiClient {
  readonly accountId: string;
  request(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  submit(body: Readonly<Record<string, unknown>>): Promise<ApiAnswer>;
}

/** Tekil as processes, on a database, topics, a task queue and ports of this test's own. */
export interface TestSystem {
  readonly env: Readonly<Record<string, string>>;
  readonly database: TestDatabase;
  readonly topics: TestTopics;
  readonly venue: TestVenue;
  readonly feed: SimulatedFeed;
  readonly taskQueue: string;
  readonly apiUrl: string;
  start(name: ServiceName, env?: Readonly<Record<string, string>>, entry?: string): Promise<ServiceProcess>;
  client(accountId?: string): Promise<ApiClient>;
  /** Waits until the gate is open, or closed, for the test's symbol. */
  awaitGate(verdict: 'open' | 'closed'): Promise<void>;
  stop(): Promise<void>;
}

export interface SystemOptions {
  readonly services: readonly ServiceName[];
  readonly env?: Readonly<Record<string, string>>;
}

export async function startSystem(options: SystemOptions): Promise<TestSystem> {
  const [database, topics] = await Promise.all([createTestDatabase(), createTestTopics()]);
  const [apiPort, gatePort, feedPort] = await Promise.all([freePort(), freePort(), freePort('udp')]);
  const taskQueue = `e2e-${randomUUID()}`;
  const env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: serverAddress('TEMPORAL_ADDRESS'),
    TEMPORAL_TASK_QUEUE: taskQueue,
    KAFKA_BROKERS: topics.brokers.join(','),
    KAFKA_TOPIC_PREFIX: topics.prefix,
    KAFKA_EXECUTIONS_GROUP_ID: `${topics.prefix}bridge`,
    KAFKA_PARTITIONS: '3',
    API_PORT: String(apiPort),
    GATE_PORT: String(gatePort),
    QUOTE_GATE_URL: `http://127.0.0.1:${gatePort}`,
    QUOTE_FEED_PORT: String(feedPort),
    ...options.env,
  };
  const feed = new SimulatedFeed({
    host: '127.0.0.1',
    port: feedPort,
    symbols: { [SYMBOL]: 1.08 },
    tickIntervalMs: 50,
  });
  feed.start();
  const venue = await createTestVenue(topics);
  const running: ServiceProcess[] = [];
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const start: TestSystem['start'] = async (name, extra = {}, entry = `dist/src/services/${name}.js`) => {
    const service = await startService(entry, { ...env, ...extra });
    running.push(service);
    return service;
  };
  const system: TestSystem = {
    env,
    database,
    topics,
    venue,
    feed,
    taskQueue,
    apiUrl,
    start,
    client: (accountId) => createClient(database, apiUrl, accountId),
    awaitGate: (verdict) => awaitGate(env.QUOTE_GATE_URL, verdict),
    stop: async () => {
      await Promise.all(running.map((service) => service.stop()));
      await feed.close();
      await venue.close();
      await topics.drop();
      await database.drop();
    },
  };
  await Promise.all(options.services.map((name) => start(name)));
  if (options.services.includes('quote-health')) await system.awaitGate('open');
  return system;
}

async function awaitGate(gateUrl: string, verdict: 'open' | 'closed'): Promise<void> {
  await waitFor(`the gate to be ${verdict}`, async () => {
    const response = await fetch(`${gateUrl}/v1/gate/${SYMBOL}`);
    return ((await response.json()) as { verdict: string }).verdict === verdict;
  });
}

async function createClient(database: TestDatabase, apiUrl: string, given?: string): Promise<ApiClient> {
  const accountId = given ?? `acc-${randomUUID().slice(0, 8)}`;
  const { key } = await createApiKey(database.pool, accountId);
  const request: ApiClient['request'] = async (method, path, body) => {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text,
      replayed: response.headers.get('idempotency-replayed') === 'true',
      headers: response.headers,
      json: JSON.parse(text) as Record<string, unknown>,
    };
  };
  return { accountId, request, submit: (body) => request('POST', '/v1/orders', body) };
}

/** A valid body for an order that no other test has. */
export function aBody(
  change: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> & { clientOrderId: string } {
  return {
    clientOrderId: randomUUID(),
    symbol: SYMBOL,
    side: 'buy',
    quantity: '10',
    type: 'market',
    timeInForce: 'day',
    ...change,
  };
}
