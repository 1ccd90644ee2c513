import type { Admin } from 'kafkajs';

/**
 * What a group has committed on a topic, as the broker has it: by partition, without those that have none. The broker
 * forgets it together with the topic.
 * @throws {KafkaJSError} when the broker does not answer, or does not know the topic.
 */
export async function committedOffsets(
  admin: Admin,
  topic: string,
  groupId: string,
): Promise<ReadonlyMap<number, string>> {
  const [group] = await admin.fetchOffsets({ groupId, topics: [topic] });
  const entries = group?.partitions ?? [];
  // "None" is a negative number: -1, or -2 where a client that found its offset out of range has asked for the first.
  return new Map(
    entries.filter(({ offset }) => !offset.startsWith('-')).map((entry) => [entry.partition, entry.offset]),
  );
}
