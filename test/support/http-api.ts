import { randomUUID } from 'node:crypto';
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import pino from 'pino';
import { createApiKey, type ApiKeyScope } from '../../src/db/api-keys';
import type { Pool } from '../../src/db/pool';
import { createApp } from '../../src/http/app';
import type { AppDeps } from '../../src/http/app-deps';
import { serve } from '../../src/http/serve';
import { readPayload } from '../../src/kafka/parse-execution';
import { createMetrics } from '../../src/observability/metrics';
import { expectDocumented } from './documented-answer';
import { FakeOrderGateway } from './fake-order-gateway';
import { createTestDatabase } from './test-database';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Byte for byte. */
  readonly body: string;
  /** Of the body; empty when there is none. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** One account's way to the API. */
export interface HttpClient {
  readonly accountId: string;
  readonly key: string;
  /** Any request, its path as it stands; the answer is held to the OpenAPI document. */
  call(method: string, path: string, options?: CallOptions): Promise<HttpAnswer>;
  get(path: string): Promise<HttpAnswer>;
  submit(body: unknown, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer>;
}

/** The API on a real database, with Temporal played by `gateway`. */
export interface HttpApi {
  readonly pool: Pool;
  readonly gateway: FakeOrderGateway;
  readonly deps: AppDeps;
  readonly port: number;
  /** What was logged, one object a line. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  client(accountId?: string, scope?: ApiKeyScope): Promise<HttpClient>;
  stop(): Promise<void>;
}

export async function startHttpApi(change: Partial<AppDeps> = {}): Promise<HttpApi> {
  const database = await createTestDatabase();
  const gateway = new FakeOrderGateway(database.pool);
  const log: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'debug' },
    { write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const deps: AppDeps = {
    pool: database.pool,
    gateway,
    executions: { deliver: () => Promise.resolve('order') },
    readPayload,
    metrics: createMetrics(),
    logger,
    acceptWindowMs: 10_000,
    answerDeadlineMs: 2_000,
    requestDeadlineMs: 10_000,
    bodyLimitBytes: 4_096,
    ...change,
  };
  const listening = await serve(createServer(createApp(deps)), { host: '127.0.0.1', port: 0 });
  return {
    pool: database.pool,
    gateway,
    deps,
    port: listening.port,
    log,
    client: (accountId, scope) => createClient(database.pool, listening.port, accountId, scope),
    stop: async () => {
      await listening.close();
      await database.drop();
    },
  };
}

async function createClient(
  pool: Pool,
  port: number,
  given?: string,
  scope?: ApiKeyScope,
): Promise<HttpClient> {
  const accountId = given ?? `acc-${randomUUID().slice(0, 8)}`;
  const { key } = await createApiKey(pool, accountId, scope);
  const call: HttpClient['call'] = async (method, path, options = {}) => {
    const headers = { authorization: `Bearer ${key}`, ...options.headers };
    const answer = await send(port, method, path, { ...options, headers });
    expectDocumented(method, path, answer);
    return answer;
  };
  return {
    accountId,
    key,
    call,
    get: (path) => call('GET', path),
    submit: (body, headers) =>
      call('POST', '/v1/orders', {
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  };
}

/** A request with exactly this path and these headers; any other client would tidy them up. */
export function send(
  port: number,
  method: string,
  path: string,
  { headers = {}, body }: CallOptions = {},
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: text,
          json: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
        });
      });
    });
    request.setTimeout(20_000, () => request.destroy(new Error(`${method} ${path} had no answer`)));
    request.on('error', reject);
    request.end(body);
  });
}

/** A valid body for an order that no other test has. */
export function anOrder(change: Readonly<Record<string, unknown>> = {}): Record<string, unknown> & {
  readonly clientOrderId: string;
} {
  return {
    clientOrderId: randomUUID(),
    symbol: 'EURUSD',
    side: 'buy',
    quantity: '10',
    type: 'limit',
    limitPrice: '1.0845',
    timeInForce: 'day',
    ...change,
  };
}
