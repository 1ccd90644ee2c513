import { randomUUID } from 'node:crypto';
import type { Admin, Kafka, KafkaMessage, Message } from 'kafkajs';
import type { ExecutionEvent } from '../../src/contracts/execution-event';
import { createAcknowledgedProducer } from '../../src/kafka/acknowledged-producer';
import { createKafka } from '../../src/kafka/client';
import { ensureTopics, topicNames, type TopicNames } from '../../src/kafka/topics';
import { silentLogger } from '../../src/observability/logger';
import { serverAddress } from './environment';
import { aMessage } from './execution-events';
import { waitFor } from './wait-for';

/** Topics of one test's own on a real broker, and what a test wants to know of them. */
export interface TestTopics {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly names: TopicNames;
  readonly kafka: Kafka;
  readonly admin: Admin;
  /** Publishes raw messages to `executions`, in order. */
  publish(messages: readonly Message[]): Promise<void>;
  publishEvents(events: readonly ExecutionEvent[]): Promise<void>;
  /** Messages behind the committed offsets of a group, over all partitions of `executions`. */
  lagOf(groupId: string): Promise<number>;
  /** Reads a topic from its beginning until it has given `count` messages. */
  read(topic: string, count: number): Promise<KafkaMessage[]>;
  drop(): Promise<void>;
}

export async function createTestTopics(partitions = 3): Promise<TestTopics> {
  const brokers = serverAddress('KAFKA_BROKERS').split(',');
  const prefix = `test-${randomUUID()}.`;
  const logger = silentLogger();
  await ensureTopics({ brokers, prefix, partitions, replicationFactor: 1 }, logger);
  const kafka = createKafka({ brokers, clientId: prefix, requestTimeoutMs: 5_000 }, logger);
  const names = topicNames(prefix);
  const admin = kafka.admin();
  await admin.connect();
  const producer = createAcknowledgedProducer(kafka, 10_000);
  const publish = (messages: readonly Message[]) => producer.send(names.executions, messages);
  return {
    brokers,
    prefix,
    names,
    kafka,
    admin,
    publish,
    publishEvents: (events) => publish(events.map((event) => aMessage(event))),
    lagOf: (groupId) => lagOf(admin, groupId, names.executions),
    read: (topic, count) => readTopic(kafka, topic, count),
    drop: async () => {
      await producer.close();
      await admin.deleteTopics({ topics: Object.values(names) as string[] });
      await admin.disconnect();
    },
  };
}

async function lagOf(admin: Admin, groupId: string, topic: string): Promise<number> {
  const ends = await admin.fetchTopicOffsets(topic);
  const [committed] = await admin.fetchOffsets({ groupId, topics: [topic] });
  return ends.reduce((lag, { partition, high }) => {
    const offset = committed?.partitions.find((entry) => entry.partition === partition)?.offset ?? '-1';
    return lag + Number(high) - Math.max(Number(offset), 0);
  }, 0);
}

async function readTopic(kafka: Kafka, topic: string, count: number): Promise<KafkaMessage[]> {
  const consumer = kafka.consumer({ groupId: `reader-${randomUUID()}`, maxWaitTimeInMs: 100 });
  const messages: KafkaMessage[] = [];
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      eachMessage: ({ message }) => {
        messages.push(message);
        return Promise.resolve();
      },
    });
    await waitFor(`${count} messages on ${topic}`, () => messages.length >= count);
    return messages;
  } finally {
    await consumer.disconnect();
  }
}
