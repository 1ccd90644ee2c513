/**
 * The offset between a provider's clock and ours, estimated as the smallest difference of arrival and source time over
 * the last minute: the message that travelled fastest is the best measure. Buckets of a second keep it small.
 */
export interface ClockOffset {
  readonly buckets: { readonly secondMs: number; minimumMs: number }[];
}

const BUCKET_MS = 1_000;
const WINDOW_MS = 60_000;

export function newClockOffset(): ClockOffset {
  return { buckets: [] };
}

/** `nowMs` is the monotonic clock; the difference is between two wall clocks. Changes the state in place. */
export function measureOffset(state: ClockOffset, differenceMs: number, nowMs: number): void {
  const secondMs = Math.floor(nowMs / BUCKET_MS) * BUCKET_MS;
  const newest = state.buckets.at(-1);
  if (newest?.secondMs === secondMs) {
    newest.minimumMs = Math.min(newest.minimumMs, differenceMs);
    return;
  }
  state.buckets.push({ secondMs, minimumMs: differenceMs });
  while ((state.buckets[0]?.secondMs ?? secondMs) <= secondMs - WINDOW_MS) state.buckets.shift();
}

/** Milliseconds; positive when the provider's clock is behind ours or its messages are slow. Null before the first. */
export function clockOffsetMs(state: ClockOffset): number | null {
  if (state.buckets.length === 0) return null;
  return Math.min(...state.buckets.map(({ minimumMs }) => minimumMs));
}
