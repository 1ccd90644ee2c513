import { backoffMs } from './execution-batch';
import type { HeldOrder } from './execution-slice';
import { PartitionProgress } from './partition-progress';

/** What a member of the group knows of a partition that it holds; ends with the membership. */
export class PartitionState {
  readonly progress = new PartitionProgress();
  /** Orders that failed or are slow, until the next retry. The partition is read on without them. */
  readonly held = new Map<string, HeldOrder>();
  /** Reading began at the committed offset. */
  hasBegun = false;
  committed: string | undefined;
  #round = 0;
  #failedAttempts = 0;
  #timer: NodeJS.Timeout | undefined;
  #resume: (() => void) | undefined;

  /** Rises with each retry and at the end: what a slice of an earlier round has not begun is left to others. */
  get round(): number {
    return this.#round;
  }

  /** The next retry, should there be one, comes as soon as the first. */
  startBackoffAnew(): void {
    this.#failedAttempts = 0;
  }

  /** Nothing more is read until the retry. */
  pauseUntilRetry(pause: () => () => void): void {
    this.#resume ??= pause();
  }

  /**
   * After a while, which doubles up to the bound: lets go of the held orders and has the partition read again from the
   * first offset that is not done.
   * @returns false when a retry is coming anyway.
   */
  retryLater(maxBackoffMs: number, readAgainFrom: (offset: string) => void): boolean {
    if (this.#timer !== undefined) return false;
    const retry = (): void => {
      this.end();
      const { firstOpen } = this.progress;
      if (firstOpen !== undefined) readAgainFrom(firstOpen);
    };
    this.#timer = setTimeout(retry, backoffMs(this.#failedAttempts, maxBackoffMs));
    this.#failedAttempts += 1;
    return true;
  }

  /** Nothing of the round that is under way has a consequence any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#resume?.();
    this.#resume = undefined;
    this.held.clear();
    this.#round += 1;
  }
}
