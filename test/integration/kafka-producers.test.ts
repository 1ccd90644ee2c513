import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { KafkaUnavailableError } from '../../src/kafka/acknowledged-producer';
import { createKafka } from '../../src/kafka/client';
import { ensureTopics } from '../../src/kafka/topics';
import { createVenueCommandProducer } from '../../src/kafka/venue-command-producer';
import type { VenueCommand } from '../../src/contracts/venue-command';
import { silentLogger, type Logger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import { countOf } from '../support/execution-bridge';
import { createTestTopics, type TestTopics } from '../support/kafka-topics';

const command: VenueCommand = {
  command: 'NEW_ORDER',
  accountId: 'acme',
  clientOrderId: 'order-1',
  symbol: 'EURUSD',
  side: 'buy',
  quantity: '1',
  type: 'market',
  timeInForce: 'day',
};

let topics: TestTopics;

beforeEach(async () => {
  topics = await createTestTopics();
});

afterEach(async () => {
  await topics.drop();
});

/** A broker that takes connections and never answers. */
async function deafBroker(): Promise<{ readonly address: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('publishing a command', () => {
  test('it is on the topic under the order’s key when publish resolves, and is counted', async () => {
    const metrics = createMetrics();
    const options = { topic: topics.names.venueCommands, timeoutMs: 5_000 };
    const producer = createVenueCommandProducer(topics.kafka, options, metrics);
    await Promise.all([producer.publish(command), producer.publish({ ...command, command: 'CANCEL' })]);
    await producer.close();
    const messages = await topics.read(topics.names.venueCommands, 2);
    expect(messages.map(({ key }) => String(key))).toEqual(['order:acme:order-1', 'order:acme:order-1']);
    expect(messages.map(({ value }) => JSON.parse(String(value)) as unknown)).toContainEqual(command);
    expect(await countOf(metrics.venueCommands, { command: 'NEW_ORDER' })).toBe(1);
  });

  test('a broker that does not answer is an error of its own, within the deadline', async () => {
    const broker = await deafBroker();
    const metrics = createMetrics();
    const kafka = createKafka(
      { brokers: [broker.address], clientId: 'test', requestTimeoutMs: 300 },
      silentLogger(),
    );
    const producer = createVenueCommandProducer(kafka, { topic: 'venue-commands', timeoutMs: 400 }, metrics);
    const startedAt = performance.now();
    await expect(producer.publish(command)).rejects.toThrow(KafkaUnavailableError);
    expect(performance.now() - startedAt).toBeLessThan(1_500);
    expect(await countOf(metrics.venueCommands)).toBe(0);
    await broker.close();
    await producer.close();
  });

  test('a topic that does not exist is an error that names it', async () => {
    const options = { topic: `${topics.prefix}missing`, timeoutMs: 3_000 };
    const producer = createVenueCommandProducer(topics.kafka, options, createMetrics());
    await expect(producer.publish(command)).rejects.toThrow(`${topics.prefix}missing`);
    await producer.close();
  });
});

describe('ensuring the topics', () => {
  const options = (partitions: number) => ({
    brokers: topics.brokers,
    prefix: `${topics.prefix}more.`,
    partitions,
    replicationFactor: 1,
  });
  const partitionsOf = async (topic: string) => {
    const { topics: found } = await topics.admin.fetchTopicMetadata({ topics: [topic] });
    return found[0]?.partitions.length;
  };
  const names = () =>
    ['executions', 'venue-commands', 'executions.dlq'].map((name) => `${topics.prefix}more.${name}`);

  afterEach(async () => {
    await topics.admin.deleteTopics({ topics: names() });
  });

  test('several may do it at once, and again', async () => {
    await Promise.all([1, 2, 3, 4].map(() => ensureTopics(options(4), silentLogger())));
    await ensureTopics(options(4), silentLogger());
    expect(await Promise.all(names().map(partitionsOf))).toEqual([4, 4, 4]);
  });

  test('a topic with another number of partitions is left as it is, and said so', async () => {
    const warnings: object[] = [];
    const logger = Object.assign(Object.create(silentLogger()) as Logger, {
      warn: (fields: object) => warnings.push(fields),
    });
    await ensureTopics(options(2), silentLogger());
    await ensureTopics(options(4), logger);
    expect(await Promise.all(names().map(partitionsOf))).toEqual([2, 2, 2]);
    expect(warnings).toContainEqual(
      expect.objectContaining({ topic: `${topics.prefix}more.executions`, partitions: 2, configured: 4 }),
    );
  });
});
