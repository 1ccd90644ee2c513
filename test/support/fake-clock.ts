import type { Now } from '../../src/domain/quote-gate';

/** Both clocks in the test's hand; time passes on both, unless one of them is set. */
export interface FakeClock {
  monotonicMs: number;
  wallMs: number;
  readonly now: () => Now;
  readonly pass: (ms: number) => void;
}

export function fakeClock(startMs = Date.parse('2026-03-14T10:00:00Z')): FakeClock {
  const clock: FakeClock = {
    monotonicMs: 1_000,
    wallMs: startMs,
    now: () => ({ monotonicMs: clock.monotonicMs, wallMs: clock.wallMs }),
    pass: (ms) => {
      clock.monotonicMs += ms;
      clock.wallMs += ms;
    },
  };
  return clock;
}
