import { randomUUID } from 'node:crypto';
import type { Pool } from '../../src/db/pool';
import { findSettled } from '../../src/db/settled-events';
import { createKafka } from '../../src/kafka/client';
import { ExecutionConsumer } from '../../src/kafka/execution-consumer';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import { benchPool } from './bench-postgres';

/**
 * Reads a topic of processed executions to its end under a new group, in one of two ways, and prints what it took:
 * `tekil` is the bridge's own consumer with its look at the database; `bare` parses JSON and selects, once a batch.
 */
interface Outcome {
  /** From the group's being joined to the last message. */
  readonly seconds: number;
  readonly residentMb: number;
  readonly cpuSeconds: number;
}

const TIMEOUT_MS = 300_000;
const POLL_MS = 5;

const [mode, brokers = '', databaseUrl = '', topic = '', count = '0'] = process.argv.slice(2);

const kafka = createKafka(
  { brokers: brokers.split(','), clientId: 'bench', requestTimeoutMs: 30_000 },
  silentLogger(),
);
const pool = benchPool(databaseUrl, 8);

/** How many messages are through, and how to leave. */
interface Reader {
  readonly through: () => number | Promise<number>;
  readonly stop: () => Promise<void>;
}

async function startTekil(): Promise<Reader> {
  const metrics = createMetrics();
  const never = (): Promise<never> => Promise.reject(new Error('an event was not known as processed'));
  const consumer = new ExecutionConsumer(
    kafka,
    {
      findSettled: (executions) => findSettled(pool, executions),
      deliver: never,
      quarantine: never,
      publishDeadLetters: never,
      unansweredBy: () => undefined,
    },
    {
      topic,
      groupId: randomUUID(),
      parallelOrders: 16,
      maxBackoffMs: 10_000,
      onFatal: (error) => {
        throw error;
      },
    },
    metrics,
    silentLogger(),
  );
  await consumer.start();
  return {
    through: async () => {
      const { values } = await metrics.bridgeMessages.get();
      return values.reduce(
        (sum, { labels, value }) => (labels.verdict === 'duplicate' ? sum + value : sum),
        0,
      );
    },
    stop: () => consumer.stop(),
  };
}

async function startBare(): Promise<Reader> {
  let through = 0;
  const consumer = kafka.consumer({ groupId: randomUUID(), maxWaitTimeInMs: 1_000 });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: 4,
    eachBatch: async ({ batch }) => {
      const events = batch.messages.map(
        ({ value }) => JSON.parse(String(value)) as Record<'source' | 'type' | 'executionId', string>,
      );
      const known = await countProcessed(pool, events);
      through += known;
      await consumer.commitOffsets([
        { topic, partition: batch.partition, offset: String(BigInt(batch.lastOffset()) + 1n) },
      ]);
    },
  });
  return { through: () => through, stop: () => consumer.disconnect() };
}

async function countProcessed(
  database: Pool,
  events: readonly Readonly<Record<'source' | 'type' | 'executionId', string>>[],
): Promise<number> {
  const { rows } = await database.query<{ event_id: string }>({
    name: 'bare-look',
    text: `
      select p.event_id from unnest($1::text[], $2::text[], $3::text[]) as e (source, event_type, event_id)
      join processed_events p using (source, event_type, event_id)`,
    values: [
      events.map(({ source }) => source),
      events.map(({ type }) => type),
      events.map(({ executionId }) => executionId),
    ],
  });
  return rows.length;
}

async function main(): Promise<Outcome> {
  const reader = await (mode === 'tekil' ? startTekil() : startBare());
  const startedAt = performance.now();
  while ((await reader.through()) < Number(count)) {
    if (performance.now() - startedAt > TIMEOUT_MS) throw new Error('the topic was not read in time');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const residentMb = Math.round(process.memoryUsage.rss() / 2 ** 20);
  const { user, system } = process.cpuUsage();
  await reader.stop();
  await pool.end();
  return { seconds, residentMb, cpuSeconds: (user + system) / 1e6 };
}

void main().then((outcome) => {
  console.log(JSON.stringify(outcome));
});
