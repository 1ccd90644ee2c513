import type { GateVerdict } from '../contracts/quote-gate';
import type { ClockDrift } from '../domain/clock-offset';
import type { GateThresholds, Now } from '../domain/quote-gate';
import {
  applyEndOfSession,
  applyHeartbeat,
  applyOther,
  applyQuote,
  newFeed,
  type Effect,
  type FeedRules,
  type FeedState,
} from '../domain/quote-health';
import type { Metrics } from '../observability/metrics';
import type { FeedAlarm } from './alarm-log';
import type { QuoteDecoder } from './decoder';
import { FeedCounters } from './feed-counters';
import { GapRecovery, type RecoveryOptions } from './gap-recovery';
import { gateVerdict } from './gate-verdict';
import { LineArbitration } from './line-arbitration';
import { parseMoldPacket, type NumberedPacket } from './moldudp64';
import { ProviderClock, systemNow } from './provider-clock';
import type { FeedHealth, QuoteSource } from './quote-source';
import { tekilQuoteDecoder } from './tekil-quote-message';

export interface QuoteBookOptions {
  readonly feed: string;
  readonly rules: FeedRules;
  readonly thresholds: GateThresholds;
  /** Reads its messages; Tekil's own when left out. */
  readonly decoder?: QuoteDecoder;
  /** The lines that carry the feed; one, called `A`, when left out. */
  readonly lines?: readonly string[];
  /** So long a line may be behind another before a gap is a gap; 20 when left out. */
  readonly gapWindowMs?: number;
  /** Asks for what is missing; it is not asked for when left out. */
  readonly recovery?: RecoveryOptions & { readonly send: (request: Buffer) => void };
  /** A clock offset that moves by more within five minutes is an alarm; 100 when left out. */
  readonly maxClockDriftMs?: number;
  readonly onAlarm?: (alarm: FeedAlarm) => void;
  readonly now?: () => Now;
}

const ONE_LINE = ['A'];
const GAP_WINDOW_MS = 20;
const MAX_CLOCK_DRIFT_MS = 100;
/** What the line of the re-request server is called in the metrics. */
const REPAIR_LINE = 'repair';

/** One feed: datagrams go in, verdicts come out, and every message is accounted for in a counter. */
export class QuoteBook implements QuoteSource {
  readonly #options: QuoteBookOptions;
  readonly #metrics: Metrics;
  readonly #now: () => Now;
  readonly #lines: readonly string[];
  readonly #counters: FeedCounters;
  readonly #state: FeedState = newFeed();
  readonly #clock: ProviderClock;
  readonly #decoder: QuoteDecoder;
  readonly #arbitration: LineArbitration;
  readonly #aliveBefore: (boolean | undefined)[] = [];

  constructor(options: QuoteBookOptions, metrics: Metrics) {
    this.#options = options;
    this.#metrics = metrics;
    this.#now = options.now ?? systemNow;
    this.#lines = options.lines ?? ONE_LINE;
    this.#counters = new FeedCounters(options.feed, [...this.#lines, REPAIR_LINE], metrics);
    this.#clock = this.#createClock();
    this.#decoder = options.decoder ?? tekilQuoteDecoder;
    this.#arbitration = this.#createArbitration();
  }

  #createClock(): ProviderClock {
    const { feed, thresholds, maxClockDriftMs: maxDriftMs = MAX_CLOCK_DRIFT_MS } = this.#options;
    const onDrift = (drift: ClockDrift): void => {
      this.#options.onAlarm?.({ kind: 'clock_drift', ...drift });
    };
    const options = { feed, maxOffsetMs: thresholds.maxClockOffsetMs, maxDriftMs, onDrift };
    return new ProviderClock(options, this.#metrics);
  }

  #createArbitration(): LineArbitration {
    const { feed, recovery, rules, thresholds, gapWindowMs = GAP_WINDOW_MS } = this.#options;
    const metrics = this.#metrics;
    const count = (packet: NumberedPacket, outcome: string): void => {
      if (packet.kind === 'messages') this.#counters.ticks(outcome, packet.messages.length);
      else this.#counters.heartbeat(outcome);
    };
    return new LineArbitration(
      {
        lines: this.#lines.length,
        heartbeatSequence: rules.heartbeatSequence,
        gapWindowMs,
        maxSilenceMs: thresholds.maxSilenceMs,
      },
      this.#state,
      {
        deliver: (packet, arrived) => {
          this.#take(packet, arrived);
        },
        duplicate: (packet) => {
          count(packet, 'duplicate');
        },
        discarded: (packet) => {
          count(packet, 'discarded');
        },
        conflict: (line, session, sequence) => {
          metrics.quoteContentConflicts.inc({ feed });
          const alarm = { line: this.#lines[line] ?? REPAIR_LINE, session, sequence: sequence.toString() };
          this.#options.onAlarm?.({ kind: 'content_conflict', ...alarm });
        },
        overflowed: () => {
          metrics.quoteBufferOverflows.inc({ feed });
        },
        recovered: (messages) => {
          metrics.quoteRecovered.inc({ feed }, messages);
        },
      },
      recovery === undefined ? null : this.#createRecovery(recovery),
    );
  }

  #createRecovery(recovery: NonNullable<QuoteBookOptions['recovery']>): GapRecovery {
    const { feed } = this.#options;
    return new GapRecovery(recovery, {
      send: (request) => {
        this.#metrics.quoteRecoveryRequests.inc({ feed });
        recovery.send(request);
      },
      gaveUp: (cause) => {
        this.#metrics.quoteRepairsGivenUp.inc({ feed, cause });
      },
    });
  }

  /** Takes one datagram of the feed, whatever it holds; `line` is its place among the lines. */
  receive(datagram: Buffer, line = 0): void {
    const packet = parseMoldPacket(datagram);
    if (packet.kind === 'malformed') {
      this.#counters.packet(packet.fault);
      this.#counters.line(line, 'malformed');
      return;
    }
    this.#counters.packet(packet.kind);
    this.#counters.line(line, this.#arbitration.take(line, packet, this.#now()));
  }

  /** Takes one datagram of the re-request server. */
  receiveReply(datagram: Buffer): void {
    const packet = parseMoldPacket(datagram);
    const outcome =
      packet.kind === 'malformed'
        ? 'malformed'
        : this.#arbitration.takeReply(packet, this.#now().monotonicMs);
    this.#counters.line(this.#lines.length, outcome);
  }

  /** Time has passed: what has waited long enough goes on. */
  pass(): void {
    this.#arbitration.pass(this.#now().monotonicMs);
  }

  /** When `pass` is to be called at the latest, on the monotonic clock; null when nothing waits. */
  get deadlineMs(): number | null {
    return this.#arbitration.deadlineMs;
  }

  /** Packets that wait for a missing one. */
  get held(): number {
    return this.#arbitration.held;
  }

  /** Shows which lines live, and tells of each that has died or come back since the last time. */
  watchLines(): void {
    const { feed, onAlarm } = this.#options;
    const { monotonicMs } = this.#now();
    for (const [index, line] of this.#lines.entries()) {
      const alive = this.#arbitration.isAlive(index, monotonicMs);
      this.#metrics.quoteLineAlive.set({ feed, line }, alive ? 1 : 0);
      const before = this.#aliveBefore[index];
      this.#aliveBefore[index] = alive;
      if (before !== undefined && before !== alive)
        onAlarm?.({ kind: alive ? 'line_back' : 'line_lost', line });
    }
  }

  #take(packet: NumberedPacket, now: Now): void {
    const sessionBefore = this.#state.session;
    switch (packet.kind) {
      case 'heartbeat': {
        const effect = applyHeartbeat(this.#state, this.#options.rules, packet, now.monotonicMs);
        this.#counters.heartbeat(effect.outcome);
        this.#counters.lost(effect.lost);
        break;
      }
      case 'end': {
        const effect = applyEndOfSession(this.#state, packet, now.monotonicMs);
        this.#counters.heartbeat(effect.outcome);
        this.#counters.lost(effect.lost);
        break;
      }
      case 'messages':
        this.#takeMessages(packet.session, packet.sequence, packet.messages, now);
    }
    if (this.#state.session !== sessionBefore) this.#metrics.quoteSessions.inc({ feed: this.#options.feed });
  }

  #takeMessages(session: string, first: bigint, messages: readonly Buffer[], now: Now): void {
    let sequence = first;
    for (const message of messages) {
      this.#takeMessage(session, sequence, message, now);
      sequence += 1n;
    }
  }

  #takeMessage(session: string, sequence: bigint, message: Buffer, now: Now): void {
    const decoded = this.#decoder.decode(message);
    if (decoded.kind === 'no_quote' || decoded.kind === 'unread') {
      const input = { session, sequence, understood: decoded.kind === 'no_quote' };
      const effect = applyOther(this.#state, input, now.monotonicMs);
      const isUnread = decoded.kind === 'unread' && effect.outcome === 'unread';
      this.#countTick(effect, isUnread ? `unread_${decoded.fault}` : effect.outcome);
      return;
    }
    const { kind, symbol, bid, ask, sourceTimeMs } = decoded;
    const input = { session, sequence, kind, symbol, bid, ask, sourceTimeMs };
    const effect = applyQuote(this.#state, this.#options.rules, input, now.monotonicMs);
    this.#countTick(effect, effect.outcome);
    if (effect.outcome === 'taken' || effect.outcome === 'restart') this.#clock.measure(sourceTimeMs, now);
  }

  #countTick({ lost }: Effect, outcome: string): void {
    this.#counters.ticks(outcome, 1);
    this.#counters.lost(lost);
  }

  /** The symbols that have ever had a quote. */
  symbols(): string[] {
    return [...this.#state.symbols.keys()].toSorted();
  }

  verdict(symbol: string): GateVerdict {
    const verdict = this.look(symbol);
    this.#metrics.gateVerdicts.inc({ verdict: verdict.verdict, code: verdict.code ?? 'OPEN' });
    return verdict;
  }

  look(symbol: string): GateVerdict {
    const now = this.#now();
    // Nobody may be told of a price that has waited for longer than it had to.
    this.#arbitration.pass(now.monotonicMs);
    const { feed, thresholds } = this.#options;
    const judged = { feed, thresholds, state: this.#state, offsetMs: this.#clock.publish() };
    return gateVerdict(judged, symbol, now);
  }

  feeds(): FeedHealth[] {
    const { session, lost } = this.#state;
    const { monotonicMs } = this.#now();
    const lines = this.#lines.map((line, index) => {
      const silenceMs = this.#arbitration.silenceMs(index, monotonicMs);
      const alive = this.#arbitration.isAlive(index, monotonicMs);
      return { line, silenceMs: silenceMs === null ? null : Math.round(silenceMs), alive };
    });
    return [{ feed: this.#options.feed, session, lost: lost.toString(), lines }];
  }
}
