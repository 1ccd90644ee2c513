import { ConfigResourceTypes } from 'kafkajs';
import { createKafka } from '../../src/kafka/client';
import { readTopicRetention } from '../../src/kafka/topic-retention';
import { freePort } from '../../src/dev/ports';
import { silentLogger } from '../../src/observability/logger';
import { createTestTopics, type TestTopics } from '../support/kafka-topics';

const DAY_MS = 86_400_000;

describe('the retention of topics', () => {
  let topics: TestTopics;
  beforeAll(async () => {
    topics = await createTestTopics(1);
  });
  afterAll(async () => {
    await topics.drop();
  });

  const configure = (settings: Readonly<Record<string, string>>): Promise<unknown> =>
    topics.admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: topics.names.executions,
          configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
        },
      ],
    });
  const read = async () => {
    const { executions, deadLetters } = topics.names;
    return readTopicRetention(topics.kafka, [executions, deadLetters] as const);
  };

  test('is read as it is in force: the broker’s own where a topic has none', async () => {
    const [executions, deadLetters] = await read();
    expect(executions).toEqual({
      topic: topics.names.executions,
      retentionMs: 7 * DAY_MS,
      retentionBytes: -1,
      deletesByTime: true,
    });
    expect(deadLetters).toMatchObject({ topic: topics.names.deadLetters, retentionMs: 7 * DAY_MS });
  });

  test.each([
    [{ 'retention.ms': '86400000' }, { retentionMs: DAY_MS }],
    [{ 'retention.ms': '-1' }, { retentionMs: -1 }],
    [
      { 'retention.ms': '-1', 'retention.bytes': '1000' },
      { retentionMs: -1, retentionBytes: 1_000 },
    ],
    [{ 'cleanup.policy': 'compact' }, { deletesByTime: false }],
    [{ 'cleanup.policy': 'compact,delete' }, { deletesByTime: true }],
  ])('of a topic with %j is %j', async (settings, expected) => {
    await configure(settings);
    expect((await read())[0]).toMatchObject(expected);
  });

  test('of a topic that does not exist is an error, not a number', async () => {
    await expect(readTopicRetention(topics.kafka, [`${topics.prefix}absent`] as const)).rejects.toThrow();
  });

  test('is an error soon when no broker answers', async () => {
    const brokers = [`127.0.0.1:${await freePort()}`];
    const kafka = createKafka({ brokers, clientId: 'test', requestTimeoutMs: 1_000 }, silentLogger());
    const startedAt = performance.now();
    await expect(readTopicRetention(kafka, ['executions'] as const)).rejects.toThrow();
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
