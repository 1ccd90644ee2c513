/** So many numbers are remembered; a copy that comes later than that is not compared. */
const WINDOW = 16_384;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const NONE = -1;

/** How a message compares with the first copy of its number. */
export type Comparison = 'first' | 'same' | 'different';

/** Digests of the last messages, to tell the second copy of a number from another message that uses the same number. */
export class RecentDigests {
  readonly #numbers = new Float64Array(WINDOW).fill(NONE);
  readonly #digests = new Int32Array(WINDOW);
  readonly #lines = new Int8Array(WINDOW);

  /** Remembers a first copy. A repeat on one and the same line is compared with nothing: a line may only repeat itself. */
  compare(sequence: bigint, line: number, message: Buffer): Comparison {
    // Two numbers that differ by a multiple of 2^53 are never within one window of each other.
    const number = Number(BigInt.asUintN(53, sequence));
    const slot = number % WINDOW;
    const digest = digestOf(message);
    if (this.#numbers[slot] !== number) {
      this.#numbers[slot] = number;
      this.#digests[slot] = digest;
      this.#lines[slot] = line;
      return 'first';
    }
    if (this.#digests[slot] === digest) return 'same';
    return this.#lines[slot] === line ? 'first' : 'different';
  }

  /** The numbering is void. */
  clear(): void {
    this.#numbers.fill(NONE);
  }
}

/** FNV-1a, 32 bits: an alarm needs no more. */
function digestOf(message: Buffer): number {
  return message.reduce((digest, byte) => Math.imul(digest ^ byte, FNV_PRIME), FNV_OFFSET) | 0;
}
