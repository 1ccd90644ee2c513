/**
 * A program: creates a topic, waits until the broker has forgotten what a group had committed on its forerunner, and
 * fills it. A test that waits for it without giving way to anything else keeps its own consumers from seeing the topic
 * while it is empty.
 */
import { z } from 'zod';
import { createAcknowledgedProducer } from '../../src/kafka/acknowledged-producer';
import { createKafka } from '../../src/kafka/client';
import { committedOffsets } from '../../src/kafka/committed-offsets';
import { silentLogger } from '../../src/observability/logger';
import { waitFor } from './wait-for';

const order = z
  .object({
    brokers: z.array(z.string()),
    topic: z.string(),
    groupId: z.string(),
    partitions: z.number(),
    messages: z.array(z.object({ key: z.string(), value: z.string() })),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

async function main(): Promise<void> {
  const { brokers, topic, groupId, partitions, messages } = order;
  const kafka = createKafka({ brokers, clientId: 'recreate-topic', requestTimeoutMs: 5_000 }, silentLogger());
  const admin = kafka.admin();
  const producer = createAcknowledgedProducer(kafka, 10_000);
  await admin.connect();
  try {
    await waitFor('the new topic', async () => {
      // False when it is there: created by an attempt whose answer was an error.
      await admin.createTopics({ topics: [{ topic, numPartitions: partitions }] });
      return true;
    });
    await waitFor(
      'the offsets to be forgotten',
      async () => (await committedOffsets(admin, topic, groupId)).size === 0,
    );
    await waitFor('the events to be published', async () => {
      await producer.send(topic, messages);
      return true;
    });
  } finally {
    await Promise.all([producer.close(), admin.disconnect()]);
  }
}

void main();
