import type { Admin, Kafka } from 'kafkajs';

/** The offsets that a group has committed on one topic, as the broker has them. */
export class GroupOffsets {
  readonly #admin: Admin;
  readonly #groupId: string;
  readonly #topic: string;

  constructor(kafka: Kafka, groupId: string, topic: string) {
    this.#admin = kafka.admin();
    this.#groupId = groupId;
    this.#topic = topic;
  }

  connect(): Promise<void> {
    return this.#admin.connect();
  }

  disconnect(): Promise<void> {
    return this.#admin.disconnect();
  }

  /**
   * By partition, without those that have none. The broker forgets them together with the topic.
   * @throws {KafkaJSError} when the broker does not answer, or does not know the topic.
   */
  async committed(): Promise<ReadonlyMap<number, string>> {
    const [group] = await this.#admin.fetchOffsets({ groupId: this.#groupId, topics: [this.#topic] });
    const entries = group?.partitions ?? [];
    // "None" is a negative number: -1, or the library's -2 for "the first there is".
    return new Map(
      entries.filter(({ offset }) => !offset.startsWith('-')).map((entry) => [entry.partition, entry.offset]),
    );
  }
}
