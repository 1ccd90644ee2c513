import type { Batch } from 'kafkajs';
import type { Logger } from '../observability/logger';
import { PartitionState } from './partition-state';

/** Kafka's own number for "the first there is". */
const EARLIEST_OFFSET = '-2';

/**
 * The partitions that this member of the group holds, and where each is read. They are read from where the group's
 * offset stands, and from their beginning when the topic was created anew.
 */
export class Assignment {
  readonly #committed: () => Promise<ReadonlyMap<number, string>>;
  readonly #readFrom: (partition: number, offset: string) => void;
  readonly #logger: Logger;
  readonly #partitions = new Map<number, PartitionState>();

  /** @param committed asks the broker for the group's offsets, by partition. */
  constructor(
    committed: () => Promise<ReadonlyMap<number, string>>,
    readFrom: (partition: number, offset: string) => void,
    logger: Logger,
  ) {
    this.#committed = committed;
    this.#readFrom = readFrom;
    this.#logger = logger;
  }

  /** Others may have held these partitions in between, or the topic may be another one of the same name. */
  begin(partitions: readonly number[]): void {
    this.end();
    for (const partition of partitions) this.stateOf(partition);
  }

  /** What is held now is read from its committed offset, by whoever gets it. */
  end(): void {
    for (const state of this.#partitions.values()) state.end();
    this.#partitions.clear();
  }

  stateOf(partition: number): PartitionState {
    const state = this.#partitions.get(partition) ?? new PartitionState();
    this.#partitions.set(partition, state);
    return state;
  }

  isCurrent(partition: number, state: PartitionState): boolean {
    return this.#partitions.get(partition) === state;
  }

  /**
   * Whether this batch cannot be what we are to read; then another one follows instead.
   *
   * A membership begins where the group's offset stands and nowhere else: the library may still hold a batch that it
   * fetched under an earlier one, and that had been read ahead of an order that was held. And the broker forgets a
   * group's offsets together with the topic: if ours are gone, the topic was deleted and created again, and the library,
   * which does not notice, would go on in the middle of the new one.
   * @throws {KafkaJSError} when the broker does not answer.
   */
  async startsElsewhere(state: PartitionState, { partition, messages }: Batch): Promise<boolean> {
    const offset = (await this.#committed()).get(partition);
    if (!state.hasBegun) {
      state.hasBegun = true;
      state.committed = offset;
      if (messages[0]?.offset === offset) return false;
      this.#readFrom(partition, offset ?? EARLIEST_OFFSET);
      return true;
    }
    if (offset !== undefined || state.committed === undefined) return false;
    this.#beginAnew(partition, state);
    return true;
  }

  /**
   * The same without a batch: a new topic that ends exactly where the old one had been read to brings none, and its
   * events would wait for the next one. Asks for all partitions at once.
   */
  async lookForNewTopic(): Promise<void> {
    const known = [...this.#partitions].filter(([, { committed }]) => committed !== undefined);
    try {
      const offsets = await this.#committed();
      for (const [partition, state] of known) {
        if (!offsets.has(partition) && this.isCurrent(partition, state)) this.#beginAnew(partition, state);
      }
      for (const [partition, state] of this.#partitions) {
        if (!state.hasBegun) state.committed = offsets.get(partition);
      }
    } catch (error) {
      this.#logger.warn(
        { err: error },
        'the offsets of the group could not be read; they are asked for again',
      );
    }
  }

  #beginAnew(partition: number, state: PartitionState): void {
    this.#logger.warn({ partition }, 'the topic was created anew; it is read from its beginning');
    state.end();
    this.#partitions.set(partition, new PartitionState());
    this.#readFrom(partition, EARLIEST_OFFSET);
  }
}
