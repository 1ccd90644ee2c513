import { ConfigResourceTypes, type Kafka } from 'kafkajs';
import type { TopicRetention } from '../domain/dedup-window';

/** Asked again soon, and with the next run; a broker that is down must not hold up a start. */
const ADMIN_RETRIES = 1;
const CONFIG_NAMES = ['retention.ms', 'retention.bytes', 'cleanup.policy'];

/**
 * How long the broker keeps the messages of each topic, as it is in force: a topic without a setting of its own has the
 * broker's.
 * @throws {Error} when the broker does not answer, a topic is missing, or an answer makes no sense.
 */
export async function readTopicRetention<T extends readonly string[]>(
  kafka: Kafka,
  topics: T,
): Promise<{ readonly [I in keyof T]: TopicRetention }>;
export async function readTopicRetention(kafka: Kafka, topics: readonly string[]): Promise<TopicRetention[]> {
  const admin = kafka.admin({ retry: { retries: ADMIN_RETRIES } });
  try {
    await admin.connect();
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({
        type: ConfigResourceTypes.TOPIC,
        name,
        configNames: CONFIG_NAMES,
      })),
    });
    return topics.map((topic) => {
      const entries = resources.find(({ resourceName }) => resourceName === topic)?.configEntries ?? [];
      return retentionOf(
        topic,
        new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
      );
    });
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

function retentionOf(topic: string, settings: ReadonlyMap<string, string>): TopicRetention {
  const policy = settings.get('cleanup.policy');
  if (policy === undefined) throw new Error(`the broker did not tell cleanup.policy of ${topic}`);
  return {
    topic,
    retentionMs: wholeNumber(topic, settings, 'retention.ms'),
    retentionBytes: wholeNumber(topic, settings, 'retention.bytes'),
    deletesByTime: policy.split(',').some((part) => part.trim() === 'delete'),
  };
}

function wholeNumber(topic: string, settings: ReadonlyMap<string, string>, name: string): number {
  const text = settings.get(name);
  if (text === undefined || !/^-?\d+$/.test(text)) {
    throw new Error(`the broker told ${name} of ${topic} as ${String(text)}, which is not a whole number`);
  }
  return Number(text);
}
