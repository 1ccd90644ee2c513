import type { Kafka } from 'kafkajs';
import type { Config } from '../config';
import { createKafka } from '../kafka/client';
import { ensureTopics, topicNames, type TopicNames } from '../kafka/topics';
import type { Logger } from '../observability/logger';

/** A Kafka client of a process that reads topics, and the topics, created where they are missing. */
export async function openKafka(
  config: Config,
  logger: Logger,
  clientId: string,
): Promise<{ readonly kafka: Kafka; readonly topics: TopicNames }> {
  const brokers = config.KAFKA_BROKERS;
  const prefix = config.KAFKA_TOPIC_PREFIX;
  const { KAFKA_PARTITIONS: partitions, KAFKA_REPLICATION_FACTOR: replicationFactor } = config;
  await ensureTopics({ brokers, prefix, partitions, replicationFactor }, logger);
  const requestTimeoutMs = config.KAFKA_REQUEST_TIMEOUT_MS;
  return { kafka: createKafka({ brokers, clientId, requestTimeoutMs }, logger), topics: topicNames(prefix) };
}
