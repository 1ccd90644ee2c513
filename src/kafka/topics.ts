import type { Admin, ITopicConfig, ITopicMetadata } from 'kafkajs';
import type { Logger } from '../observability/logger';
import { createKafka } from './client';

/** The topics of one installation. A prefix lets several share a broker. */
export interface TopicNames {
  readonly executions: string;
  readonly venueCommands: string;
  readonly deadLetters: string;
}

export function topicNames(prefix: string): TopicNames {
  return {
    executions: `${prefix}executions`,
    venueCommands: `${prefix}venue-commands`,
    deadLetters: `${prefix}executions.dlq`,
  };
}

export interface EnsureTopicsOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly partitions: number;
  readonly replicationFactor: number;
}

const ENSURE_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 5_000;
const RETRY_INTERVAL_MS = 500;

/** The dead letters keep what the executions topic could not use, so they must hold more than that topic may. */
const DEAD_LETTER_MAX_BYTES = 16 * 1_048_576;
/** The dedup window counts on it: a dead letter may be replayed for this long. */
const DEAD_LETTER_RETENTION_MS = 7 * 24 * 3_600_000;

/**
 * Creates the topics that are missing. May be called again and by several at once. Waits for a broker that is just
 * starting, for a bounded time.
 * @throws {Error} with the last failure when the topics are not there after the deadline.
 */
export async function ensureTopics(options: EnsureTopicsOptions, logger: Logger): Promise<void> {
  const kafka = createKafka(
    { brokers: options.brokers, clientId: 'tekil-topics', requestTimeoutMs: REQUEST_TIMEOUT_MS },
    logger,
  );
  const giveUpAt = performance.now() + ENSURE_TIMEOUT_MS;
  for (;;) {
    const admin = kafka.admin({ retry: { retries: 2 } });
    try {
      await admin.connect();
      await createMissing(admin, options, logger);
      return;
    } catch (error) {
      if (performance.now() > giveUpAt) {
        throw new Error(`the topics could not be created within ${ENSURE_TIMEOUT_MS} ms`, { cause: error });
      }
      logger.warn({ err: error }, 'Kafka cannot create topics yet');
      await new Promise((resolve) => setTimeout(resolve, RETRY_INTERVAL_MS));
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  }
}

async function createMissing(admin: Admin, options: EnsureTopicsOptions, logger: Logger): Promise<void> {
  const wanted = topicConfigs(options);
  const existing = new Set(await admin.listTopics());
  const missing = wanted.filter(({ topic }) => !existing.has(topic));
  // One call a topic: somebody else may create one of them at this moment, which is as good as creating it here.
  for (const config of missing) {
    await admin.createTopics({ topics: [config], timeout: REQUEST_TIMEOUT_MS, waitForLeaders: true });
  }
  const { topics } = await admin.fetchTopicMetadata({ topics: wanted.map(({ topic }) => topic) });
  warnOfPartitions(topics, options, logger);
}

function topicConfigs({ prefix, partitions, replicationFactor }: EnsureTopicsOptions): ITopicConfig[] {
  const names = topicNames(prefix);
  const size = { numPartitions: partitions, replicationFactor };
  return [
    {
      topic: names.executions,
      ...size,
      // The broker's clock, not the producer's: a record stamped 1970 would be deleted as too old before it is read, and
      // one stamped 9999 would be refused, or kept for ever.
      configEntries: [{ name: 'message.timestamp.type', value: 'LogAppendTime' }],
    },
    { topic: names.venueCommands, ...size },
    {
      topic: names.deadLetters,
      ...size,
      configEntries: [
        { name: 'max.message.bytes', value: String(DEAD_LETTER_MAX_BYTES) },
        { name: 'retention.ms', value: String(DEAD_LETTER_RETENTION_MS) },
      ],
    },
  ];
}

/** A topic is never resized here: that would move keys between partitions, and with them the order within an order. */
function warnOfPartitions(
  topics: readonly ITopicMetadata[],
  { partitions }: EnsureTopicsOptions,
  logger: Logger,
): void {
  for (const topic of topics) {
    if (topic.partitions.length === partitions) continue;
    logger.warn(
      { topic: topic.name, partitions: topic.partitions.length, configured: partitions },
      'the topic has another number of partitions than configured; it is left as it is',
    );
  }
}
