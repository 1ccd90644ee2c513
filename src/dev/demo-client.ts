import { readFileSync } from 'node:fs';
import type { Kafka } from 'kafkajs';
import { createKafka } from '../kafka/client';
import { topicNames } from '../kafka/topics';
import { createPool, firstRow, type Pool } from '../db/pool';
import { silentLogger } from '../observability/logger';
import type { RunningSystem } from './running-system';

const REQUEST_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 100;

export interface DemoAnswer {
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
  readonly json: Record<string, unknown>;
}

/** What the demonstration asks of the running system: its API, its venue, its database and its topics. */
export class DemoClient {
  readonly system: RunningSystem;
  readonly #key: string;
  readonly #pool: Pool;
  readonly #kafka: Kafka;

  constructor(system: RunningSystem) {
    this.system = system;
    this.#key = readFileSync(system.apiKeyFile, 'utf8').trim();
    const logger = silentLogger();
    this.#pool = createPool(
      {
        connectionString: system.databaseUrl,
        size: 2,
        statementTimeoutMs: REQUEST_TIMEOUT_MS,
        connectTimeoutMs: REQUEST_TIMEOUT_MS,
        applicationName: 'tekil demo',
      },
      logger,
    );
    const brokers = system.kafkaBrokers.split(',');
    this.#kafka = createKafka(
      { brokers, clientId: 'tekil-demo', requestTimeoutMs: REQUEST_TIMEOUT_MS },
      logger,
    );
  }

  async api(method: 'GET' | 'POST', path: string, body?: unknown): Promise<DemoAnswer> {
    const response = await fetch(`${this.system.apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text,
      replayed: response.headers.get('idempotency-replayed') === 'true',
      json: JSON.parse(text) as Record<string, unknown>,
    };
  }

  /** Steers the simulated venue and its feed. */
  async venue(method: 'POST' | 'PUT', path: string, body: unknown): Promise<void> {
    const response = await fetch(`${this.system.venueControlUrl}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    if (!response.ok)
      throw new Error(`the simulated venue answered ${response.status}: ${await response.text()}`);
  }

  /** Rows of a table that belong to an order; the table's name is ours, not a user's. */
  async rows(table: 'orders' | 'fills' | 'idempotency_keys', clientOrderId: string): Promise<number> {
    const row = await firstRow<{ count: number }>(this.#pool, {
      text: `select count(*)::integer as "count" from ${table} where account_id = $1::text and client_order_id = $2::text`,
      values: [this.system.accountId, clientOrderId],
    });
    return row?.count ?? 0;
  }

  /** Messages about an order on a topic, counted by reading the topic from its start to its present end. */
  async messages(topic: 'executions' | 'venueCommands', clientOrderId: string): Promise<number> {
    const name = topicNames('')[topic];
    const admin = this.#kafka.admin();
    await admin.connect();
    const ends = new Map(
      (await admin.fetchTopicOffsets(name)).map(({ partition, low, high }) => [partition, { low, high }]),
    );
    await admin.disconnect();
    const open = new Set(
      [...ends].filter(([, { low, high }]) => BigInt(low) < BigInt(high)).map(([key]) => key),
    );
    const consumer = this.#kafka.consumer({ groupId: `tekil-demo-${Date.now()}` });
    let found = 0;
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [name], fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachMessage: ({ partition, message }) => {
          if (String(message.key).endsWith(`:${clientOrderId}`)) found += 1;
          if (BigInt(message.offset) + 1n >= BigInt(ends.get(partition)?.high ?? '0')) open.delete(partition);
          return Promise.resolve();
        },
      });
      await eventually(`the end of ${name}`, () => Promise.resolve(open.size === 0));
    } finally {
      await consumer.disconnect();
    }
    return found;
  }

  /** The sum of a counter over its label sets, read from a process's metrics. */
  async metric(service: keyof RunningSystem['services'], name: string): Promise<number> {
    const response = await fetch(`${this.system.services[service].adminUrl}/metrics`);
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith(`${name}{`));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** Waits until `look` says yes; an error counts as not yet. @throws naming what it waited for. */
export async function eventually(
  what: string,
  look: () => Promise<boolean>,
  timeoutMs = 30_000,
): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  while (!(await look().catch(() => false))) {
    if (performance.now() > giveUpAt) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}
