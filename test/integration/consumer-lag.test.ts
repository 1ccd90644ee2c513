import { randomUUID } from 'node:crypto';
import { consumerLagSample, readConsumerLag } from '../../src/kafka/consumer-lag';
import { createMetrics } from '../../src/observability/metrics';
import { createTestTopics, type TestTopics } from '../support/kafka-topics';

/** Seven messages in each partition, and a group that has committed these offsets there, as an operator may set them. */
const MESSAGES = 7;
const COMMITTED = { 0: 3, 1: 7, 2: 1, 3: 1_000 } as const;
/** The broker has let go of what lies before this offset of partition 2. */
const FIRST_KEPT = 5;

const groupId = `lag-${randomUUID()}`;
let topics: TestTopics;

beforeAll(async () => {
  topics = await createTestTopics(4);
  const topic = topics.names.executions;
  const offsets = Object.entries(COMMITTED);
  await topics.publish(
    offsets.flatMap(([partition]) =>
      Array.from({ length: MESSAGES }, () => ({ partition: Number(partition), value: '{}' })),
    ),
  );
  await topics.admin.setOffsets({
    groupId,
    topic,
    partitions: offsets.map(([partition, offset]) => ({
      partition: Number(partition),
      offset: String(offset),
    })),
  });
  const partitions = [{ partition: 2, offset: String(FIRST_KEPT) }];
  await topics.admin.deleteTopicRecords({ topic, partitions });
});

afterAll(async () => {
  await topics.drop();
});

async function standingIn(partition: number, group = groupId) {
  const standings = await readConsumerLag(topics.admin, topics.names.executions, group);
  return standings.find((entry) => entry.partition === partition);
}

async function lagIn(partition: number): Promise<bigint | undefined> {
  return (await standingIn(partition))?.lag;
}

describe('the lag of a group', () => {
  test('is what lies behind its committed offset', async () => {
    expect(await lagIn(0)).toBe(4n);
    expect(await lagIn(1)).toBe(0n);
  });

  test('is everything that there is while it has committed nothing', async () => {
    const nobody = `nobody-${randomUUID()}`;
    expect(await standingIn(0, nobody)).toEqual({ partition: 0, committed: 0n, lag: 7n });
    expect(await standingIn(2, nobody)).toEqual({ partition: 2, committed: 5n, lag: 2n });
  });

  test('leaves out what the broker no longer has', async () => {
    expect(await lagIn(2)).toBe(2n);
  });

  test('is never below zero, as behind an offset of a topic that was created anew', async () => {
    expect(await lagIn(3)).toBe(0n);
  });

  test('is shown by partition, beside the committed offset, while no consumer runs', async () => {
    const metrics = createMetrics();
    const options = { topic: topics.names.executions, groupId };
    const { sample, close } = consumerLagSample(topics.kafka, options, metrics);
    await sample.take();
    const shown = async (gauge: (typeof metrics)['bridgeLagMessages']) =>
      new Set((await gauge.get()).values.map(({ labels, value }) => `${labels.partition}: ${value}`));
    expect(await shown(metrics.bridgeLagMessages)).toEqual(new Set(['0: 4', '1: 0', '2: 2', '3: 0']));
    expect(await shown(metrics.bridgeCommittedOffset)).toEqual(new Set(['0: 3', '1: 7', '2: 1', '3: 1000']));
    sample.forget();
    expect(await shown(metrics.bridgeLagMessages)).toEqual(new Set());
    await close();
  });
});
