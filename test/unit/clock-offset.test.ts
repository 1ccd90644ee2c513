import { clockOffsetMs, measureOffset, newClockOffset } from '../../src/domain/clock-offset';

const MAX_OFFSET_MS = 500;

/** Measures each [difference, at] in turn. */
const offsetAfter = (...measurements: [differenceMs: number, nowMs: number][]) => {
  const state = newClockOffset(MAX_OFFSET_MS);
  for (const [differenceMs, nowMs] of measurements) measureOffset(state, differenceMs, nowMs);
  return clockOffsetMs(state);
};

describe('the clock offset', () => {
  test('is not known before the first message', () => {
    expect(offsetAfter()).toBeNull();
  });

  test('is that of the message that travelled fastest', () => {
    expect(offsetAfter([30, 0], [12, 100], [45, 200], [13, 1_500])).toBe(12);
  });

  test('may be negative: the provider’s clock is ahead of ours', () => {
    expect(offsetAfter([-74, 0], [-60, 10])).toBe(-74);
  });

  test('forgets what is older than a minute', () => {
    expect(offsetAfter([5, 0], [40, 59_000])).toBe(5);
    expect(offsetAfter([5, 0], [40, 60_000])).toBe(40);
  });

  test('of a feed that is uniformly late is its lateness, for somebody to disbelieve', () => {
    expect(offsetAfter([600_010, 0], [600_000, 500])).toBe(600_000);
  });

  test('is not spoilt by one stamp from a future beyond belief', () => {
    expect(offsetAfter([3, 0], [-86_400_000, 10], [4, 20])).toBe(3);
  });

  test('is that of the future stamps when there are no others', () => {
    expect(offsetAfter([-3_600_000, 0])).toBe(-3_600_000);
    expect(offsetAfter([3, 0], [-3_600_000, 61_000])).toBe(-3_600_000);
  });

  test('takes bounded room however many messages arrive', () => {
    const state = newClockOffset(MAX_OFFSET_MS);
    for (let nowMs = 0; nowMs < 600_000; nowMs += 7) measureOffset(state, nowMs % 50, nowMs);
    expect(state.buckets.length).toBeLessThanOrEqual(60);
  });

  test('says when a new second began', () => {
    const state = newClockOffset(MAX_OFFSET_MS);
    expect([0, 500, 999, 1_000].map((nowMs) => measureOffset(state, 1, nowMs))).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });
});
