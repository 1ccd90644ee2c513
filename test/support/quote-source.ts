import type { GateCode, GateVerdict } from '../../src/contracts/quote-gate';
import type { FeedHealth, QuoteSource } from '../../src/quotes/quote-source';

/** A sound verdict with its evidence. */
export function aVerdict(symbol: string, change: Partial<GateVerdict> = {}): GateVerdict {
  return {
    symbol,
    verdict: 'open',
    feed: 'test',
    session: 'S1',
    lastSequence: '7',
    silenceMs: 12,
    sourceAgeMs: 15,
    clockOffsetMs: 1,
    suspect: false,
    suspectSince: null,
    lost: '0',
    bid: 1.0845,
    ask: 1.0847,
    decidedAt: '2026-03-14T10:00:00.000Z',
    ...change,
  };
}

export function aClosedVerdict(symbol: string, code: GateCode, reason: string): GateVerdict {
  return aVerdict(symbol, { verdict: 'closed', code, reason });
}

/** Quotes that a test has in its hand: what is not set is not known. */
export class FakeQuotes implements QuoteSource {
  readonly quotes = new Map<string, GateVerdict>();
  feedHealth: readonly FeedHealth[] = [
    { feed: 'test', session: 'S1', lost: '0', lines: [{ line: 'A', silenceMs: 12, alive: true }] },
  ];
  readonly verdicts: string[] = [];
  readonly looks: string[] = [];

  constructor(...quotes: readonly GateVerdict[]) {
    for (const quote of quotes) this.set(quote);
  }

  set(quote: GateVerdict): void {
    this.quotes.set(quote.symbol, quote);
  }

  readonly symbols = (): readonly string[] => [...this.quotes.keys()].toSorted();
  readonly feeds = (): readonly FeedHealth[] => this.feedHealth;
  readonly verdict = (symbol: string): GateVerdict => {
    this.verdicts.push(symbol);
    return this.#find(symbol);
  };
  readonly look = (symbol: string): GateVerdict => {
    this.looks.push(symbol);
    return this.#find(symbol);
  };

  #find(symbol: string): GateVerdict {
    return (
      this.quotes.get(symbol) ??
      aVerdict(symbol, {
        verdict: 'closed',
        code: 'NO_QUOTE',
        reason: `no quote of ${symbol} has arrived`,
        lastSequence: null,
        sourceAgeMs: null,
        bid: null,
        ask: null,
      })
    );
  }
}
