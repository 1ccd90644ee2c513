/**
 * The offset between a provider's clock and ours, estimated as the smallest difference of arrival and source time over
 * the last minute: the message that travelled fastest is the best measure. A bucket for each second bounds its size.
 */
export interface ClockOffset {
  readonly maxOffsetMs: number;
  readonly buckets: { readonly secondMs: number; minimumMs: number }[];
  /** The last difference that lay further in the future than is believed; null when there was none. */
  futureMs: number | null;
  /** The offset of each second in which it was asked for drift, at most as many as `DRIFT_WINDOW_MS` has seconds. */
  readonly history: { readonly atMs: number; readonly offsetMs: number }[];
}

/** The offset has moved: one of the two clocks was set or runs at another pace, or the feed became slow as a whole. */
export interface ClockDrift {
  readonly fromMs: number;
  readonly toMs: number;
}

const BUCKET_MS = 1_000;
const WINDOW_MS = 60_000;
/** A move is noticed within it; what takes longer is pace, not a jump, and is bounded by the largest offset. */
const DRIFT_WINDOW_MS = 300_000;

/** `maxOffsetMs`: an offset beyond it is not believed. */
export function newClockOffset(maxOffsetMs: number): ClockOffset {
  return { maxOffsetMs, buckets: [], futureMs: null, history: [] };
}

/**
 * Takes one measurement; `nowMs` is the monotonic clock, the difference is between two wall clocks. Returns whether a
 * new second began. Changes the state in place.
 *
 * A message cannot arrive before it was sent, so a stamp from a future beyond belief is a bad stamp and no measurement:
 * a single one would otherwise be the minimum of a whole minute and close the gate of every symbol.
 */
export function measureOffset(state: ClockOffset, differenceMs: number, nowMs: number): boolean {
  const newest = state.buckets.at(-1);
  // What had to wait for a missing message is measured after what came later; seconds never go back.
  const secondMs = Math.max(Math.floor(nowMs / BUCKET_MS) * BUCKET_MS, newest?.secondMs ?? -Infinity);
  while ((state.buckets[0]?.secondMs ?? secondMs) <= secondMs - WINDOW_MS) state.buckets.shift();
  if (differenceMs < -state.maxOffsetMs) {
    state.futureMs = differenceMs;
    return false;
  }
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

/**
 * Has the offset moved by more than `maxDriftMs` within five minutes? Asked once a second. A move is told once: what it
 * is measured against begins anew with it.
 */
export function noticeDrift(state: ClockOffset, maxDriftMs: number, nowMs: number): ClockDrift | null {
  const toMs = clockOffsetMs(state);
  if (toMs === null) return null;
  const { history } = state;
  while ((history[0]?.atMs ?? nowMs) <= nowMs - DRIFT_WINDOW_MS) history.shift();
  const moved = history.find(({ offsetMs }) => Math.abs(toMs - offsetMs) > maxDriftMs);
  if (moved !== undefined) history.length = 0;
  history.push({ atMs: nowMs, offsetMs: toMs });
  return moved === undefined ? null : { fromMs: moved.offsetMs, toMs };
}
