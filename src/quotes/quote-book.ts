import type { GateVerdict } from '../contracts/quote-gate';
import { clockOffsetMs, measureOffset, newClockOffset, type ClockOffset } from '../domain/clock-offset';
import { judge, type GateEvidence, type GateThresholds, type Now } from '../domain/quote-gate';
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
import { parseMoldPacket, type MoldPacket } from './moldudp64';
import { decodeQuoteMessage, type QuoteMessageFault } from './tekil-quote-message';

/** Both clocks of the process. */
function systemNow(): Now {
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
  readonly #offset: ClockOffset;

  constructor(options: QuoteBookOptions, metrics: Metrics) {
    this.#options = options;
    this.#metrics = metrics;
    this.#now = options.now ?? systemNow;
    this.#offset = newClockOffset(options.thresholds.maxClockOffsetMs);
  }

  /** Takes one datagram of the feed, whatever it holds. */
  receive(datagram: Buffer): void {
    const { feed } = this.#options;
    const packet = parseMoldPacket(datagram);
    const outcome = packet.kind === 'malformed' ? packet.fault : packet.kind;
    this.#metrics.quotePackets.inc({ feed, outcome });
    const sessionBefore = this.#state.session;
    this.#take(packet, this.#now());
    if (this.#state.session !== sessionBefore) this.#metrics.quoteSessions.inc({ feed });
  }

  #take(packet: MoldPacket, now: Now): void {
    const { quoteHeartbeats } = this.#metrics;
    switch (packet.kind) {
      case 'malformed':
        return;
      case 'heartbeat': {
        const effect = applyHeartbeat(this.#state, this.#options.rules, packet, now.monotonicMs);
        this.#count(quoteHeartbeats, effect, effect.outcome);
        return;
      }
      case 'end': {
        const effect = applyEndOfSession(this.#state, packet);
        this.#count(quoteHeartbeats, effect, effect.outcome);
        return;
      }
      case 'messages':
        for (const [index, message] of packet.messages.entries()) {
          this.#takeMessage(packet.session, packet.sequence + BigInt(index), message, now);
        }
    }
  }

  #takeMessage(session: string, sequence: bigint, message: Buffer, now: Now): void {
    const { quoteTicks } = this.#metrics;
    const quote = decodeQuoteMessage(message);
    if (typeof quote === 'string') {
      const input = { session, sequence, understood: isNoQuote(quote) };
      const effect = applyOther(this.#state, input, now.monotonicMs);
      this.#count(quoteTicks, effect, effect.outcome === 'unread' ? `unread_${quote}` : effect.outcome);
      return;
    }
    const input = { session, sequence, ...quote };
    const effect = applyQuote(this.#state, this.#options.rules, input, now.monotonicMs);
    this.#count(quoteTicks, effect, effect.outcome);
    if (effect.outcome === 'taken' || effect.outcome === 'restart') this.#measure(quote.sourceTimeMs, now);
  }

  #measure(sourceTimeMs: number, now: Now): void {
    const newSecond = measureOffset(this.#offset, now.wallMs - sourceTimeMs, now.monotonicMs);
    if (newSecond) this.#publishOffset();
  }

  #publishOffset(): number | null {
    const offsetMs = clockOffsetMs(this.#offset);
    if (offsetMs !== null) this.#metrics.quoteClockOffsetMs.set({ feed: this.#options.feed }, offsetMs);
    return offsetMs;
  }

  #count(counter: Metrics['quoteTicks' | 'quoteHeartbeats'], { lost }: Effect, outcome: string): void {
    const { feed } = this.#options;
    counter.inc({ feed, outcome });
    if (lost > 0n) this.#metrics.quoteTicksLost.inc({ feed }, Number(lost));
  }

  /** The symbols that have ever had a quote. */
  symbols(): string[] {
    return [...this.#state.symbols.keys()].toSorted();
  }

  verdict(symbol: string): GateVerdict {
    const now = this.#now();
    const { feed, thresholds } = this.#options;
    const evidence = judge(this.#state, symbol, this.#publishOffset(), now, thresholds);
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

/** A message that the provider may well send and that says nothing about a price. */
function isNoQuote(fault: QuoteMessageFault): boolean {
  return fault === 'empty' || fault === 'type';
}

function measured({ quote, refusal, ...figures }: GateEvidence) {
  return {
    ...figures,
    lastSequence: quote === undefined ? null : quote.sequence.toString(),
    bid: quote === undefined ? null : quote.bid,
    ask: quote === undefined ? null : quote.ask,
  };
}
