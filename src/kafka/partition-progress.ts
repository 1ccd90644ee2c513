/**
 * What of a partition is read and not done, and what behind that is done. Only over what is done may the committed
 * offset move: it says that everything before it is done. Offsets are 64-bit texts that grow; between two of them there
 * may be holes.
 */
export class PartitionProgress {
  /** Read and not done, ascending: a set keeps the order in which offsets came in, and what is read again is in it. */
  readonly #open = new Set<string>();
  /** Between these two everything that is not open is done. Kept while something is open or has to be read again. */
  #known: { readonly from: bigint; readonly to: bigint } | undefined;

  /** The oldest offset that is not done; undefined when everything that was read is done. */
  get firstOpen(): string | undefined {
    for (const offset of this.#open) return offset;
    return undefined;
  }

  /** How far reading has gone ahead of the oldest offset that is not done. */
  get ahead(): number {
    const { firstOpen } = this;
    if (firstOpen === undefined || this.#known === undefined) return 0;
    return Number(this.#known.to - BigInt(firstOpen));
  }

  /**
   * Reading goes on at this offset. Before everything that is known it begins anew: the topic may be another one of the
   * same name, and nothing that is known says anything about it.
   */
  startAt(offset: string): void {
    if (this.#known === undefined || BigInt(offset) >= this.#known.from) return;
    this.#open.clear();
    this.#known = undefined;
  }

  /** Whether the message was done when it was read before. False for what was not read before, or is not known. */
  isDone(offset: string): boolean {
    if (this.#known === undefined || this.#open.has(offset)) return false;
    const number = BigInt(offset);
    return number >= this.#known.from && number <= this.#known.to;
  }

  /** Takes down what became of some messages that were read, in their order. */
  record(messages: readonly { readonly offset: string }[], done: ReadonlySet<string>): void {
    const [first, last] = [messages[0], messages.at(-1)];
    if (first === undefined || last === undefined) return;
    for (const { offset } of messages) {
      if (done.has(offset)) this.#open.delete(offset);
      else this.#open.add(offset);
    }
    const { from, to } = this.#known ?? { from: BigInt(first.offset), to: -1n };
    const end = BigInt(last.offset);
    const isPast = this.#open.size === 0 && end >= to;
    this.#known = isPast ? undefined : { from, to: end > to ? end : to };
  }
}
