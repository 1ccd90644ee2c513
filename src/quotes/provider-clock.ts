import {
  clockOffsetMs,
  measureOffset,
  newClockOffset,
  noticeDrift,
  type ClockDrift,
  type ClockOffset,
} from '../domain/clock-offset';
import type { Now } from '../domain/quote-gate';
import type { Metrics } from '../observability/metrics';

/** Both clocks of the process. */
export function systemNow(): Now {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

export interface ProviderClockOptions {
  readonly feed: string;
  readonly maxOffsetMs: number;
  readonly maxDriftMs: number;
  readonly onDrift: (drift: ClockDrift) => void;
}

/** What is known of a provider's clock: measured with each quote, shown in the metrics, and told of when it moves. */
export class ProviderClock {
  readonly #options: ProviderClockOptions;
  readonly #metrics: Metrics;
  readonly #offset: ClockOffset;

  constructor(options: ProviderClockOptions, metrics: Metrics) {
    this.#options = options;
    this.#metrics = metrics;
    this.#offset = newClockOffset(options.maxOffsetMs);
  }

  /** A quote that was made at `sourceTimeMs` by the provider's clock has come. */
  measure(sourceTimeMs: number, now: Now): void {
    if (!measureOffset(this.#offset, now.wallMs - sourceTimeMs, now.monotonicMs)) return;
    this.publish();
    const { feed, maxDriftMs, onDrift } = this.#options;
    const drift = noticeDrift(this.#offset, maxDriftMs, now.monotonicMs);
    if (drift === null) return;
    this.#metrics.quoteClockDrifts.inc({ feed });
    onDrift(drift);
  }

  /** Shows the offset, and returns it; null before the first quote. */
  publish(): number | null {
    const offsetMs = clockOffsetMs(this.#offset);
    if (offsetMs !== null) this.#metrics.quoteClockOffsetMs.set({ feed: this.#options.feed }, offsetMs);
    return offsetMs;
  }
}
