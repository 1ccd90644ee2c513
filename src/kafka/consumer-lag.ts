import type { Admin, Kafka } from 'kafkajs';
import type { Metrics } from '../observability/metrics';
import type { Sample } from '../observability/sampler';
import { committedOffsets } from './committed-offsets';

/** How far a group has come in one partition. Offsets are 64-bit. */
export interface PartitionLag {
  readonly partition: number;
  /** Where the group would read on; the partition's first message when it has committed nothing there. */
  readonly committed: bigint;
  /** Messages behind that which the broker still has. */
  readonly lag: bigint;
}

/** Asks the broker: what a consumer knows of itself says nothing once the consumer is stuck. */
export async function readConsumerLag(admin: Admin, topic: string, groupId: string): Promise<PartitionLag[]> {
  // The committed offsets first: those read later may be ahead of an end that was read before them.
  const committedAt = await committedOffsets(admin, topic, groupId);
  const ends = await admin.fetchTopicOffsets(topic);
  return ends.map(({ partition, low, high }) => {
    const committed = BigInt(committedAt.get(partition) ?? low);
    const lag = BigInt(high) - larger(committed, BigInt(low));
    return { partition, committed, lag: larger(lag, 0n) };
  });
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** The lag of the bridge's group as a sample, by a connection of its own, which is made when it is needed. */
export function consumerLagSample(
  kafka: Kafka,
  options: { readonly topic: string; readonly groupId: string },
  metrics: Metrics,
): { readonly sample: Sample; readonly close: () => Promise<void> } {
  // Few: the next round is a retry as well.
  const admin = kafka.admin({ retry: { retries: 1 } });
  const { bridgeLagMessages, bridgeCommittedOffset } = metrics;
  const forget = (): void => {
    bridgeLagMessages.reset();
    bridgeCommittedOffset.reset();
  };
  const take = async (): Promise<void> => {
    await admin.connect();
    const partitions = await readConsumerLag(admin, options.topic, options.groupId);
    for (const { partition, committed, lag } of partitions) {
      bridgeLagMessages.set({ partition }, Number(lag));
      bridgeCommittedOffset.set({ partition }, Number(committed));
    }
  };
  return { sample: { name: 'bridge_lag', take, forget }, close: () => admin.disconnect() };
}
