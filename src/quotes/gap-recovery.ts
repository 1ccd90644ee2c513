import { encodeRequest } from './moldudp64';

/** A hole in the numbers: `from` is the first that is missing, `to` the first that is there again. */
export interface Hole {
  readonly session: string;
  readonly from: bigint;
  readonly to: bigint;
}

export interface RecoveryOptions {
  /** Without an answer for so long, the request is taken for lost. */
  readonly timeoutMs: number;
  /** So many requests in a row without any progress, and the hole is given up. */
  readonly attempts: number;
}

/** Why a repair ended without filling its hole. */
export type GiveUpCause = 'unanswered' | 'too_slow' | 'too_large' | 'overflow' | 'session';

export interface RecoverySink {
  /** Sends a request to the re-request server. */
  readonly send: (request: Buffer) => void;
  readonly gaveUp: (cause: GiveUpCause) => void;
}

/** A larger hole is not asked for: repairing it would take longer than its prices are worth. */
export const MAX_REPAIR_MESSAGES = 10_000n;
/** However well a repair gets on, it ends after this: the gate is closed meanwhile. */
export const MAX_REPAIR_MS = 5_000;
/** Between two requests, whatever they are for: a server that is flooded answers nobody. */
export const MIN_REQUEST_INTERVAL_MS = 5;

interface Repair {
  readonly session: string;
  readonly to: bigint;
  readonly startedMs: number;
  /** What is still missing begins here. */
  from: bigint;
  /** Requests since the last progress. */
  unanswered: number;
  askedMs: number;
}

/**
 * Asks a re-request server for what is missing, one hole at a time. An answer may bring a part only, and then the rest
 * is asked for; it may not come at all. Times are of the monotonic clock and are inputs; docs/quote-feed.md has the rules.
 */
export class GapRecovery {
  readonly #options: RecoveryOptions;
  readonly #sink: RecoverySink;
  #repair: Repair | null = null;
  #lastRequestMs = Number.NEGATIVE_INFINITY;

  constructor(options: RecoveryOptions, sink: RecoverySink) {
    this.#options = options;
    this.#sink = sink;
  }

  /** What is being asked for; null when nothing is. */
  get wanted(): Hole | null {
    return this.#repair;
  }

  /** When something is to be done next; null when nothing is awaited. */
  get deadlineMs(): number | null {
    if (this.#repair === null) return null;
    return Math.min(this.#nextRequestMs(this.#repair), this.#repair.startedMs + MAX_REPAIR_MS);
  }

  /** Sees to the hole that stands first now, or to what is left of it; `given_up` is said once for each. */
  pursue(hole: Hole, nowMs: number): 'waiting' | 'given_up' {
    const repair = this.#repairOf(hole, nowMs);
    if (hole.to - hole.from > MAX_REPAIR_MESSAGES) return this.#giveUp('too_large');
    if (nowMs >= repair.startedMs + MAX_REPAIR_MS) return this.#giveUp('too_slow');
    if (nowMs < this.#nextRequestMs(repair)) return 'waiting';
    if (repair.unanswered >= this.#options.attempts) return this.#giveUp('unanswered');
    repair.unanswered += 1;
    repair.askedMs = nowMs;
    this.#lastRequestMs = nowMs;
    this.#sink.send(encodeRequest(hole.session, hole.from, Number(hole.to - hole.from)));
    return 'waiting';
  }

  /** Nothing is missing any more. */
  filled(): void {
    this.#repair = null;
  }

  /** Everything before `next` is there or was given up: a hole that ends there is no longer asked for. */
  reached(next: bigint): void {
    if (this.#repair !== null && next >= this.#repair.to) this.#repair = null;
  }

  /** Something else ended the repair, if there is one. */
  abandon(cause: GiveUpCause): void {
    if (this.#repair !== null) this.#giveUp(cause);
  }

  #repairOf({ session, from, to }: Hole, nowMs: number): Repair {
    const current = this.#repair;
    const goesOn = current?.session === session && from >= current.from && from < current.to;
    if (goesOn) {
      if (from > current.from) {
        current.from = from;
        current.unanswered = 0;
      }
      return current;
    }
    this.#repair = { session, from, to, startedMs: nowMs, unanswered: 0, askedMs: Number.NEGATIVE_INFINITY };
    return this.#repair;
  }

  /** After progress the rest is asked for as soon as the rate allows; an answer in several packets has time to come. */
  #nextRequestMs({ unanswered, askedMs }: Repair): number {
    const allowedMs = this.#lastRequestMs + MIN_REQUEST_INTERVAL_MS;
    return unanswered === 0 ? allowedMs : Math.max(allowedMs, askedMs + this.#options.timeoutMs);
  }

  #giveUp(cause: GiveUpCause): 'given_up' {
    this.#repair = null;
    this.#sink.gaveUp(cause);
    return 'given_up';
  }
}
