/**
 * The offset between a provider's clock and ours, estimated as the smallest difference of arrival and source time over
 * the last minute: the message that travelled fastest is the best measure. A bucket for each second bounds its size.
 */
export interface ClockOffset {
  readonly maxOffsetMs: number;
  readonly buckets: { readonly secondMs: number; minimumMs: number }[];
  /** The last difference that lay further in the future than is believed; null when there was none. */
  futureMs: number | null;
}

const BUCKET_MS = 1_000;
const WINDOW_MS = 60_000;

/** `maxOffsetMs`: an offset beyond it is not believed. */
export function newClockOffset(maxOffsetMs: number): ClockOffset {
  return { maxOffsetMs, buckets: [], futureMs: null };
}

/**
 * Takes one measurement; `nowMs` is the monotonic clock, the difference is between two wall clocks. Returns whether a
 * new second began. Changes the state in place.
 *
 * A message cannot arrive before it was sent, so a stamp from a future beyond belief is a bad stamp and no measurement:
 * a single one would otherwise be the minimum of a whole minute and close the gate of every symbol.
 */
export function measureOffset(state: ClockOffset, differenceMs: number, nowMs: number): boolean {
  const secondMs = Math.floor(nowMs / BUCKET_MS) * BUCKET_MS;
  while ((state.buckets[0]?.secondMs ?? secondMs) <= secondMs - WINDOW_MS) state.buckets.shift();
  if (differenceMs < -state.maxOffsetMs) {
    state.futureMs = differenceMs;
    return false;
  }
  const newest = state.buckets.at(-1);
  if (newest?.secondMs === secondMs) {
    newest.minimumMs = Math.min(newest.minimumMs, differenceMs);
    return false;
  }
  state.buckets.push({ secondMs, minimumMs: differenceMs });
  return true;
}

/**
 * Milliseconds; positive when the provider's clock is behind ours or its messages are slow. Null before the first.
 * When all stamps lie in the future it is theirs, which nobody will believe.
 */
export function clockOffsetMs(state: ClockOffset): number | null {
  if (state.buckets.length === 0) return state.futureMs;
  return Math.min(...state.buckets.map(({ minimumMs }) => minimumMs));
}
