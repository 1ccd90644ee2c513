import type { GateVerdict } from '../contracts/quote-gate';
import { clockOffsetMs, measureOffset, newClockOffset, type ClockOffset } from '../domain/clock-offset';
import { judge, type GateEvidence, type GateThresholds, type Now } from '../domain/quote-gate';
import {
  applyEndOfSession,
  applyHeartbeat,
  applyQuote,
  newFeed,
  type Effect,
  type FeedRules,
  type FeedState,
} from '../domain/quote-health';
import type { Metrics } from '../observability/metrics';
import { parseMoldPacket } from './moldudp64';
import { decodeQuoteMessage } from './tekil-quote-message';

/** Both clocks of the process. */
export function systemNow(): Now {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

export interface QuoteBookOptions {
  readonly feed: string;
  readonly rules: FeedRules;
  readonly thresholds: GateThresholds;
  readonly now?: () => Now;
}

/** One feed: datagrams go in, verdicts come out, and every message is accounted for in a counter. */
export class QuoteBook {
  readonly #options: QuoteBookOptions;
  readonly #metrics: Metrics;
  readonly #now: () => Now;
  readonly #state: FeedState = newFeed();
  readonly #offset: ClockOffset = newClockOffset();

  constructor(options: QuoteBookOptions, metrics: Metrics) {
    this.#options = options;
    this.#metrics = metrics;
    this.#now = options.now ?? systemNow;
  }

  receive(datagram: Buffer): void {
    const { feed, rules } = this.#options;
    const packet = parseMoldPacket(datagram);
    const outcome = packet.kind === 'malformed' ? packet.fault : packet.kind;
    this.#metrics.quotePackets.inc({ feed, outcome });
    if (packet.kind === 'malformed') return;
    const now = this.#now();
    const before = this.#state.session;
    if (packet.kind === 'heartbeat') {
      const effect = applyHeartbeat(this.#state, rules, packet, now.monotonicMs);
      this.#count(this.#metrics.quoteHeartbeats, effect);
    } else if (packet.kind === 'end') {
      this.#count(this.#metrics.quoteHeartbeats, applyEndOfSession(this.#state, packet.session));
    } else {
      this.#takeMessages(packet.session, packet.sequence, packet.messages, now);
    }
    if (this.#state.session !== before) this.#metrics.quoteSessions.inc({ feed });
  }

  #takeMessages(session: string, first: bigint, messages: readonly Buffer[], now: Now): void {
    for (const [index, message] of messages.entries()) {
      const sequence = first + BigInt(index);
      const quote = decodeQuoteMessage(message);
      if (typeof quote === 'string') {
        // Its number still counts: a message of another kind is not a lost one.
        this.#metrics.quoteTicks.inc({ feed: this.#options.feed, outcome: `undecoded_${quote}` });
        this.#skip(session, sequence, now);
        continue;
      }
      const effect = applyQuote(
        this.#state,
        this.#options.rules,
        { session, sequence, ...quote },
        now.monotonicMs,
      );
      this.#count(this.#metrics.quoteTicks, effect);
      if (effect.outcome === 'taken')
        measureOffset(this.#offset, now.wallMs - quote.sourceTimeMs, now.monotonicMs);
    }
  }

  /** A number that was used for something other than a quote moves the numbering on like a heartbeat of its own. */
  #skip(session: string, sequence: bigint, now: Now): void {
    const rules: FeedRules = { ...this.#options.rules, heartbeatSequence: 'consumes' };
    const effect = applyHeartbeat(this.#state, rules, { session, sequence }, now.monotonicMs);
    this.#countLost(effect);
  }

  #count(counter: Metrics['quoteTicks' | 'quoteHeartbeats'], effect: Effect): void {
    counter.inc({ feed: this.#options.feed, outcome: effect.outcome });
    this.#countLost(effect);
  }

  #countLost({ lost }: Effect): void {
    if (lost > 0n) this.#metrics.quoteTicksLost.inc({ feed: this.#options.feed }, Number(lost));
  }

  /** The symbols that have ever had a quote. */
  symbols(): string[] {
    return [...this.#state.symbols.keys()].toSorted();
  }

  verdict(symbol: string): GateVerdict {
    const now = this.#now();
    const { feed, thresholds } = this.#options;
    const offsetMs = clockOffsetMs(this.#offset);
    if (offsetMs !== null) this.#metrics.quoteClockOffsetMs.set({ feed }, offsetMs);
    const evidence = judge(this.#state, symbol, offsetMs, now, thresholds);
    const verdict = evidence.refusal === null ? 'open' : 'closed';
    this.#metrics.gateVerdicts.inc({ verdict, code: evidence.refusal?.code ?? 'OPEN' });
    return {
      symbol,
      verdict,
      ...evidence.refusal,
      feed,
      session: this.#state.session,
      ...measured(evidence),
      decidedAt: new Date(now.wallMs).toISOString(),
    };
  }
}

function measured({ quote, refusal, ...figures }: GateEvidence) {
  return {
    ...figures,
    lastSequence: quote === undefined ? null : quote.sequence.toString(),
    bid: quote === undefined ? null : quote.bid,
    ask: quote === undefined ? null : quote.ask,
  };
}
