import type { GateVerdict } from '../contracts/quote-gate';

/** One of the lines on which a feed arrives. */
export interface LineHealth {
  /** `A`, `B`, or what the feed calls it. */
  readonly line: string;
  /** Since its last datagram that could be read; null before the first. */
  readonly silenceMs: number | null;
  /** It has said something within the feed's allowed silence. */
  readonly alive: boolean;
}

/** What is known of a feed as a whole. */
export interface FeedHealth {
  readonly feed: string;
  readonly session: string | null;
  /** Messages whose numbers were passed over, since the start; 64-bit, hence text. */
  readonly lost: string;
  readonly lines: readonly LineHealth[];
}

/** What the gate asks: one or several feeds, each symbol in one of them. */
export interface QuoteSource {
  /** The symbols that have ever had a quote, sorted. */
  readonly symbols: () => readonly string[];
  /** The verdict that an order rests on: counted. */
  readonly verdict: (symbol: string) => GateVerdict;
  /** The same for a reader who decides nothing: not counted. */
  readonly look: (symbol: string) => GateVerdict;
  readonly feeds: () => readonly FeedHealth[];
}
