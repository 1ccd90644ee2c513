import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Pool } from '../src/db/pool';
import { startKafka } from '../src/dev/kafka';
import { nodeFlagsOf } from '../src/dev/supervised-service';
import { orderWorkflowId } from '../src/domain/ids';
import { createAcknowledgedProducer } from '../src/kafka/acknowledged-producer';
import { createKafka } from '../src/kafka/client';
import { parseExecution } from '../src/kafka/parse-execution';
import { ensureTopics, topicNames } from '../src/kafka/topics';
import { silentLogger } from '../src/observability/logger';
import { packageRoot } from '../src/package-root';
import { benchPool, migrateBench, withPostgres } from './support/bench-postgres';
import { spread, spreadText, table } from './support/load';
import { heading } from './support/rig';

/** A topic that was processed before is read again: the bridge's consumer against a bare one. */
const EVENTS = Number(process.argv[2] ?? 200_000);
const EVENTS_AN_ORDER = 20;
const ROUNDS = 5;
const CHUNK = 5_000;
const PARTITIONS = 6;
const READ_TIMEOUT_MS = 330_000;

interface Outcome {
  readonly seconds: number;
  readonly residentMb: number;
  readonly cpuSeconds: number;
}

function eventOf(number: number): { key: string; value: string } {
  const clientOrderId = `replayed-${Math.floor(number / EVENTS_AN_ORDER)}`;
  const accountId = 'bench';
  const event = {
    source: 'BENCH',
    type: 'FILL',
    executionId: randomUUID(),
    accountId,
    clientOrderId,
    symbol: 'EURUSD',
    side: 'buy',
    quantity: '1.5',
    price: '1.0845',
    executedAt: new Date(Date.UTC(2026, 2, 14) + number).toISOString(),
    venueOrderId: `V-${clientOrderId}`,
  };
  return { key: orderWorkflowId({ accountId, clientOrderId }), value: JSON.stringify(event) };
}

/** Publishes the events and writes the dedup rows that processing them would have left. */
async function prepare(brokers: string, pool: Pool): Promise<string> {
  const connection = { brokers: brokers.split(','), clientId: 'bench', requestTimeoutMs: 30_000 };
  const kafka = createKafka(connection, silentLogger());
  const topics = topicNames('');
  await ensureTopics(
    { ...connection, prefix: '', partitions: PARTITIONS, replicationFactor: 1 },
    silentLogger(),
  );
  const producer = createAcknowledgedProducer(kafka, 30_000);
  for (let start = 0; start < EVENTS; start += CHUNK) {
    const messages = Array.from({ length: Math.min(CHUNK, EVENTS - start) }, (_, n) => eventOf(start + n));
    await producer.send(topics.executions, messages);
    const parsed = messages.map(({ key, value }) =>
      parseExecution({ key: Buffer.from(key), value: Buffer.from(value) }),
    );
    const read = parsed.filter((each) => each.kind === 'execution');
    await pool.query(
      `insert into processed_events (source, event_type, event_id, content_hash, event_time)
       select 'BENCH', 'FILL', id, decode(hash, 'hex'), at
       from unnest($1::text[], $2::text[], $3::timestamptz[]) as e (id, hash, at)`,
      [
        read.map(({ execution }) => execution.executionId),
        read.map(({ contentHash }) => contentHash),
        read.map(({ execution }) => execution.executedAt),
      ],
    );
  }
  await pool.query('vacuum analyze processed_events');
  await producer.close();
  return topics.executions;
}

async function read(mode: 'tekil' | 'bare', args: readonly string[]): Promise<Outcome> {
  const file = join(packageRoot(), 'bench', 'support', 'replay-reader.ts');
  // Both as the bridge is run.
  const flags = [...nodeFlagsOf('fill-bridge'), ...(process.env['READER_NODE_ARGS']?.split(' ') ?? [])];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...flags, '--import', 'tsx', file, mode, ...args],
    { timeout: READ_TIMEOUT_MS, env: { ...process.env, NODE_ENV: 'production' } },
  );
  return JSON.parse(stdout) as Outcome;
}

async function main(): Promise<void> {
  await withPostgres(async (url, dataDir) => {
    await migrateBench(url);
    const kafka = await startKafka({ dataDir });
    const pool = benchPool(url, 2);
    try {
      await compare([kafka.brokers, url, await prepare(kafka.brokers, pool), String(EVENTS)]);
    } finally {
      await pool.end();
      await kafka.stop();
    }
  });
}

async function compare(args: readonly string[]): Promise<void> {
  const tekil: Outcome[] = [];
  const bare: Outcome[] = [];
  // One first, uncounted: the servers' caches are then the same for both.
  await read('bare', args);
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(await read('bare', args));
    tekil.push(await read('tekil', args));
  }
  report(tekil, bare);
}

function report(tekil: readonly Outcome[], bare: readonly Outcome[]): void {
  const line = (name: string, outcomes: readonly Outcome[]): string[] => [
    name,
    spreadText(spread(outcomes.map(({ seconds }) => EVENTS / seconds))),
    spreadText(spread(outcomes.map(({ cpuSeconds }) => (cpuSeconds / EVENTS) * 1e6)), 1),
    spreadText(spread(outcomes.map(({ residentMb }) => residentMb))),
  ];
  const ratios = tekil.map(({ seconds }, round) => (bare[round]?.seconds ?? 0) / seconds);
  console.log(heading(`npm run bench:replay`));
  console.log();
  console.log(
    table(
      [`${EVENTS} processed events`, 'events/s', 'CPU µs an event, start included', 'resident MiB'],
      [
        line('the bridge', tekil),
        line('a bare consumer', bare),
        ['ratio', spreadText(spread(ratios), 2), '', ''],
      ],
    ),
  );
}

void main();
