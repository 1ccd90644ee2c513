import { setTimeout as pause } from 'node:timers/promises';
import { withDeadline } from '../lifecycle';

const PROBE_INTERVAL_MS = 50;
const PROBE_TIMEOUT_MS = 5_000;

export interface Readiness {
  /** Of what; for the message. */
  readonly what: string;
  /** Throws while it is not ready. */
  readonly probe: () => Promise<void>;
  readonly timeoutMs: number;
  /** Throws when waiting has become pointless. */
  readonly stillPossible?: () => void;
}

/** Waits until `probe` no longer throws. @throws {Error} when the time is over, with the last failure as its cause. */
export async function untilReady({ what, probe, timeoutMs, stillPossible }: Readiness): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    stillPossible?.();
    try {
      await withDeadline(probe(), PROBE_TIMEOUT_MS, `asking ${what}`);
      return;
    } catch (error) {
      if (performance.now() > giveUpAt) {
        throw new Error(`${what} was not ready within ${timeoutMs} ms`, { cause: error });
      }
    }
    await pause(PROBE_INTERVAL_MS);
  }
}
