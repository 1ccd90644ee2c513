import { SYMBOL } from '../domain/ids';

/** Tekil's own quote message: 60 bytes, big-endian, laid out in docs/quote-feed.md. */
export const MESSAGE_BYTES = 60;
const VERSION = 1;
const TYPES = { T: 'tick', S: 'snapshot' } as const;
const SYMBOL_AT = 4;
const SYMBOL_BYTES = 32;
const SOURCE_TIME_AT = 36;
const BID_AT = 44;
const ASK_AT = 52;
const NANOS_PER_MICRO = 1_000n;
const MICROS_PER_MS = 1_000;

export interface QuoteMessage {
  readonly kind: 'tick' | 'snapshot';
  readonly symbol: string;
  readonly bid: number;
  readonly ask: number;
  /** Milliseconds since 1970, with a fraction: the message carries nanoseconds. */
  readonly sourceTimeMs: number;
}

export type QuoteMessageFault = 'length' | 'version' | 'type' | 'symbol' | 'price';

/** Reads one message, or names what is wrong with it. */
export function decodeQuoteMessage(message: Buffer): QuoteMessage | QuoteMessageFault {
  if (message.length !== MESSAGE_BYTES) return 'length';
  if (message.readUInt8(0) !== VERSION) return 'version';
  const kind = TYPES[message.toString('latin1', 1, 2) as keyof typeof TYPES] as
    QuoteMessage['kind'] | undefined;
  if (kind === undefined) return 'type';
  const symbol = message.toString('latin1', SYMBOL_AT, SYMBOL_AT + SYMBOL_BYTES).trimEnd();
  if (!SYMBOL.test(symbol)) return 'symbol';
  const bid = message.readDoubleBE(BID_AT);
  const ask = message.readDoubleBE(ASK_AT);
  if (!Number.isFinite(bid) || !Number.isFinite(ask)) return 'price';
  const micros = Number(message.readBigUInt64BE(SOURCE_TIME_AT) / NANOS_PER_MICRO);
  return { kind, symbol, bid, ask, sourceTimeMs: micros / MICROS_PER_MS };
}

export function encodeQuoteMessage(quote: QuoteMessage): Buffer {
  const message = Buffer.alloc(MESSAGE_BYTES);
  message.writeUInt8(VERSION, 0);
  message.write(quote.kind === 'tick' ? 'T' : 'S', 1, 'latin1');
  message.write(quote.symbol.padEnd(SYMBOL_BYTES, ' '), SYMBOL_AT, SYMBOL_BYTES, 'latin1');
  const micros = BigInt(Math.round(quote.sourceTimeMs * MICROS_PER_MS));
  message.writeBigUInt64BE(micros * NANOS_PER_MICRO, SOURCE_TIME_AT);
  message.writeDoubleBE(quote.bid, BID_AT);
  message.writeDoubleBE(quote.ask, ASK_AT);
  return message;
}
