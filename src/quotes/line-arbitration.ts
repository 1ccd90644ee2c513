import { assert } from '../domain/assert';
import type { Now } from '../domain/quote-gate';
import {
  awaitMissing,
  nextSequence,
  nothingIsMissing,
  standingOf,
  type FeedRules,
  type FeedState,
} from '../domain/quote-health';
import type { GapRecovery } from './gap-recovery';
import { HeldPackets, type HeldPacket } from './held-packets';
import type { NumberedPacket } from './moldudp64';
import { RecentDigests, type Comparison } from './recent-digests';

/** What a packet was to its line. */
export type LineOutcome =
  /** It brought a number that no line had brought. */
  | 'first'
  /** All its numbers had come. */
  | 'duplicate'
  /** A heartbeat, or the end of the session. */
  | 'beat'
  /** Of a session that is over. */
  | 'former_session'
  /** An answer that nobody had asked for. */
  | 'unwanted';

export interface ArbitrationOptions {
  readonly lines: number;
  readonly heartbeatSequence: FeedRules['heartbeatSequence'];
  /** So long a line may be behind the other before a gap is a gap. */
  readonly gapWindowMs: number;
  /** A line that has said nothing for longer is not waited for. */
  readonly maxSilenceMs: number;
}

export interface ArbitrationSink {
  /** Takes packets in the order of their numbers; `arrived` is when we had it, or could have had it. */
  readonly deliver: (packet: NumberedPacket, arrived: Now) => void;
  /** A copy that says nothing new. */
  readonly duplicate: (packet: NumberedPacket) => void;
  /** A packet that waited for numbers which no longer mean anything. */
  readonly discarded: (packet: NumberedPacket) => void;
  /** A number came with one content on one line and with another on another. */
  readonly conflict: (line: number, session: string, sequence: bigint) => void;
  /** More had to wait than there is room for: a gap was declared early. */
  readonly overflowed: () => void;
  /** The re-request server brought so many of the messages that were missing. */
  readonly recovered: (messages: number) => void;
}

/** The numbers that a packet uses: from the first up to the one before `to`. */
interface Span {
  readonly from: bigint;
  readonly to: bigint;
}

interface LineState {
  /** When its last readable packet came, on the monotonic clock. */
  heardMs: number | null;
  /** The number that comes next on this line; null before its first in this session. */
  next: bigint | null;
}

/** The line of the re-request server. */
const REPAIR_LINE = -1;
const NOTHING = Buffer.alloc(0);

/**
 * Makes one stream of several lines that carry the same numbers, and of what a re-request server adds. The first copy
 * of a number wins. What lies behind a hole waits until the hole is filled or is a gap for certain: every living line
 * has passed it or has had `gapWindowMs` for it, and no repair is under way any more. A feed of one line without
 * recovery waits for nothing. A state machine without a clock: each input carries its time.
 */
export class LineArbitration {
  readonly #options: ArbitrationOptions;
  readonly #feed: FeedState;
  readonly #sink: ArbitrationSink;
  readonly #recovery: GapRecovery | null;
  readonly #lines: LineState[];
  readonly #digests: RecentDigests | null;
  readonly #waits: boolean;
  readonly #held = new HeldPackets();
  /** When something beyond the first hole came. */
  #holeSince: Now | null = null;

  /** `feed` is changed by what `sink.deliver` does with a packet, and told when it has to wait. */
  constructor(
    options: ArbitrationOptions,
    feed: FeedState,
    sink: ArbitrationSink,
    recovery: GapRecovery | null,
  ) {
    this.#options = options;
    this.#feed = feed;
    this.#sink = sink;
    this.#recovery = recovery;
    this.#lines = Array.from({ length: options.lines }, () => ({ heardMs: null, next: null }));
    this.#digests = options.lines > 1 ? new RecentDigests() : null;
    this.#waits = options.lines > 1 || recovery !== null;
  }

  /** Of a line: since its last readable packet; null before the first. */
  silenceMs(line: number, nowMs: number): number | null {
    const heardMs = this.#line(line).heardMs;
    return heardMs === null ? null : nowMs - heardMs;
  }

  isAlive(line: number, nowMs: number): boolean {
    const silenceMs = this.silenceMs(line, nowMs);
    return silenceMs !== null && silenceMs <= this.#options.maxSilenceMs;
  }

  /** How many packets wait. */
  get held(): number {
    return this.#held.size;
  }

  /** When `pass` is to be called at the latest, on the monotonic clock; null when nothing waits. */
  get deadlineMs(): number | null {
    if (this.#holeSince === null) return null;
    return this.#recovery?.deadlineMs ?? this.#holeSince.monotonicMs + this.#options.gapWindowMs;
  }

  /** Takes a packet of a line. */
  take(line: number, packet: NumberedPacket, arrived: Now): LineOutcome {
    const state = this.#line(line);
    state.heardMs = arrived.monotonicMs;
    const standing = standingOf(this.#feed, packet.session);
    if (standing === 'over' || (standing === 'new' && packet.kind === 'end')) {
      this.#sink.deliver(packet, arrived);
      return 'former_session';
    }
    if (standing === 'new') this.#leaveSession();
    if (!this.#waits) return this.#handOn(packet, arrived);
    const { to } = this.#spanOf(packet);
    if (state.next === null || state.next < to) state.next = to;
    return this.#accept(line, packet, arrived, arrived.monotonicMs);
  }

  /** Takes an answer of the re-request server. It can only fill holes: it begins no session and ends none. */
  takeReply(packet: NumberedPacket, nowMs: number): LineOutcome {
    const wanted = this.#recovery?.wanted;
    const holeSince = this.#holeSince;
    if (!wanted || !holeSince) return 'unwanted';
    if (packet.kind !== 'messages' || packet.session !== wanted.session) return 'unwanted';
    const next = nextSequence(this.#feed) ?? wanted.from;
    const from = packet.sequence;
    if (from >= wanted.to) return 'unwanted';
    const messages = packet.messages.slice(0, Number(wanted.to - from));
    const to = from + BigInt(messages.length);
    if (to <= next) return 'duplicate';
    // It was sent before what lies behind the hole: it has been on its way for at least as long as that is here.
    const outcome = this.#accept(REPAIR_LINE, { ...packet, messages }, holeSince, nowMs);
    if (outcome === 'first') this.#sink.recovered(Number(to - later(from, next)));
    return outcome;
  }

  /** Time has passed: whatever has waited long enough goes on. */
  pass(nowMs: number): void {
    for (;;) {
      this.#releaseWhatFits();
      const head = this.#held.first;
      const next = nextSequence(this.#feed);
      if (head === undefined || next === null) {
        this.#recovery?.filled();
        return;
      }
      this.#holeSince ??= this.#held.since;
      if (!this.#isAskedFor(next) && !this.#isGap(next, nowMs)) return;
      const hole = { session: head.packet.session, from: next, to: head.from };
      if (this.#recovery?.pursue(hole, nowMs) === 'waiting') return;
      this.#releaseFirst();
    }
  }

  /** One line without recovery: each packet is delivered as it comes. This is the hot path of most feeds. */
  #handOn(packet: NumberedPacket, arrived: Now): LineOutcome {
    const before = this.#feed.lastSequence;
    this.#sink.deliver(packet, arrived);
    if (packet.kind !== 'messages') return 'beat';
    return this.#feed.lastSequence === before ? 'duplicate' : 'first';
  }

  #accept(line: number, packet: NumberedPacket, arrived: Now, nowMs: number): LineOutcome {
    const { from, to } = this.#spanOf(packet);
    const compared = this.#compare(line, packet, from, to);
    const next = nextSequence(this.#feed);
    const fits = next === null || from <= next;
    const outcome = fits
      ? this.#deliver(packet, arrived, compared)
      : this.#hold({ packet, arrived, from, to }, compared);
    if (compared.conflicting !== null && outcome !== 'restart') {
      this.#sink.conflict(line, packet.session, compared.conflicting);
    }
    if (this.#held.size > 0) this.pass(nowMs);
    return outcome === 'restart' ? 'first' : outcome;
  }

  #deliver(packet: NumberedPacket, arrived: Now, compared: Compared): LineOutcome | 'restart' {
    const next = nextSequence(this.#feed);
    const { from, to } = this.#spanOf(packet);
    const isUsed = next !== null && from < to && to <= next;
    if (isUsed && compared.all === 'same') {
      this.#sink.duplicate(packet);
      return 'duplicate';
    }
    this.#sink.deliver(packet, arrived);
    const nextNow = nextSequence(this.#feed);
    if (next !== null && nextNow !== null && nextNow < next) {
      this.#restart();
      return 'restart';
    }
    if (packet.kind !== 'messages') return 'beat';
    return isUsed ? 'duplicate' : 'first';
  }

  #hold(packet: HeldPacket, compared: Compared): LineOutcome {
    const isCopy = packet.from < packet.to && compared.all === 'same';
    if (isCopy || !this.#held.insert(packet)) {
      this.#sink.duplicate(packet.packet);
      return packet.packet.kind === 'messages' ? 'duplicate' : 'beat';
    }
    awaitMissing(this.#feed, packet.arrived.monotonicMs);
    while (this.#held.isOverfull) {
      this.#recovery?.abandon('overflow');
      this.#sink.overflowed();
      this.#releaseFirst();
      this.#releaseWhatFits();
    }
    return packet.packet.kind === 'messages' ? 'first' : 'beat';
  }

  /** It was a gap before, whatever the lines say by now. */
  #isAskedFor(next: bigint): boolean {
    this.#recovery?.reached(next);
    return this.#recovery !== null && this.#recovery.wanted !== null;
  }

  /** Is the missing number lost as far as the lines go? */
  #isGap(next: bigint, nowMs: number): boolean {
    if (this.#lines.length === 1) return true;
    if (nowMs - (this.#holeSince?.monotonicMs ?? nowMs) >= this.#options.gapWindowMs) return true;
    return this.#lines.every(
      (line, index) => !this.isAlive(index, nowMs) || (line.next !== null && line.next > next),
    );
  }

  #releaseWhatFits(): void {
    for (let head = this.#held.first; head !== undefined; head = this.#held.first) {
      const next = nextSequence(this.#feed);
      if (next !== null && head.from > next && !this.#feed.ended) return;
      this.#releaseFirst();
    }
  }

  /** Delivers what waits first, whether or not something is missing before it. */
  #releaseFirst(): void {
    const head = this.#held.takeFirst();
    this.#holeSince = null;
    if (this.#held.size === 0) nothingIsMissing(this.#feed);
    const before = nextSequence(this.#feed);
    this.#sink.deliver(head.packet, head.arrived);
    const after = nextSequence(this.#feed);
    if (before !== null && after !== null && after < before) this.#restart();
  }

  /** What waits belongs to a session that ends here: it is judged before the next one begins. */
  #leaveSession(): void {
    this.#recovery?.abandon('session');
    while (this.#held.size > 0) this.#releaseFirst();
    this.#forgetNumbers();
  }

  /** The numbers began again without a session: what waits had other numbers. */
  #restart(): void {
    this.#recovery?.abandon('session');
    while (this.#held.size > 0) this.#sink.discarded(this.#held.takeFirst().packet);
    this.#holeSince = null;
    nothingIsMissing(this.#feed);
    this.#forgetNumbers();
  }

  #forgetNumbers(): void {
    for (const line of this.#lines) line.next = null;
    this.#digests?.clear();
  }

  /** Compares each message of the packet with the first copy of its number. */
  #compare(line: number, packet: NumberedPacket, from: bigint, to: bigint): Compared {
    if (this.#digests === null) return NOT_COMPARED;
    let all: Comparison = 'same';
    let conflicting: bigint | null = null;
    for (let sequence = from, index = 0; sequence < to; sequence += 1n, index += 1) {
      const message = packet.kind === 'messages' ? packet.messages[index] : NOTHING;
      const comparison = this.#digests.compare(sequence, line, message ?? NOTHING);
      if (comparison === 'different') conflicting ??= sequence;
      if (comparison !== 'same') all = comparison;
    }
    return { all, conflicting };
  }

  /** A heartbeat and an end use no number; they stand before the number that comes next. */
  #spanOf(packet: NumberedPacket): Span {
    const from = packet.sequence;
    if (packet.kind === 'messages') return { from, to: from + BigInt(packet.messages.length) };
    if (packet.kind === 'end' || this.#options.heartbeatSequence === 'next') return { from, to: from };
    if (this.#options.heartbeatSequence === 'consumes') return { from, to: from + 1n };
    return { from: from + 1n, to: from + 1n };
  }

  #line(line: number): LineState {
    const state = this.#lines[line];
    assert(state !== undefined, () => `there is no line ${line}`);
    return state;
  }
}

function later(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

interface Compared {
  /** `same`: each of its messages is a copy. */
  readonly all: Comparison;
  /** The first number that came with other content before. */
  readonly conflicting: bigint | null;
}

const NOT_COMPARED: Compared = { all: 'first', conflicting: null };
