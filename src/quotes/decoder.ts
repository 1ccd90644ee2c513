/** A price as one message of a feed states it; docs/quote-decoders.md explains each field to whoever writes a decoder. */
export interface QuoteMessage {
  /** A snapshot states the price in full; a tick of a `delta` feed only changes what came before it. */
  readonly kind: 'tick' | 'snapshot';
  /** As orders spell it: it matches `SYMBOL`. */
  readonly symbol: string;
  /** Finite. A quote is judged and shown, never booked, so it may be a double. */
  readonly bid: number;
  readonly ask: number;
  /** When the price was made at its source: milliseconds since 1970, with a fraction where the feed is finer. */
  readonly sourceTimeMs: number;
}

/** The message says nothing about a price. Its number is used, and that is all. */
export interface NoQuote {
  readonly kind: 'no_quote';
}

/** The message may have been a price and was not understood, which is as bad as its loss. */
export interface UnreadMessage {
  readonly kind: 'unread';
  /** What was wrong, as the decoder's list `faults` names it. */
  readonly fault: string;
}

export type DecodedMessage = QuoteMessage | NoQuote | UnreadMessage;

/**
 * Turns the bytes of one numbered message into what they say. It is called once for each copy of a message, repeats
 * included, so it must be a function of its bytes alone; it must not throw, and it must not keep the buffer.
 */
export interface QuoteDecoder {
  /** Every fault that `decode` can name; they become labels of `tekil_quote_ticks_total`. */
  readonly faults: readonly string[];
  readonly decode: (message: Buffer) => DecodedMessage;
}

/** The one answer that is made so often that it should cost nothing. */
export const NO_QUOTE: NoQuote = Object.freeze({ kind: 'no_quote' });
