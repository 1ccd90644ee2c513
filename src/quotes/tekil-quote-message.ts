import { assert } from '../domain/assert';
import { SYMBOL } from '../domain/ids';

/** Tekil's own quote message: 60 bytes, big-endian, laid out byte by byte in docs/quote-feed.md. */
const MESSAGE_BYTES = 60;
const VERSION = 1;
const TICK = 0x54;
const SNAPSHOT = 0x53;
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
  /** Milliseconds since 1970, with a fraction: the message carries nanoseconds, of which microseconds are kept. */
  readonly sourceTimeMs: number;
}

/** `empty` and `type` are messages that are no quote; the others are quotes that cannot be read. */
export type QuoteMessageFault = 'empty' | 'type' | 'length' | 'version' | 'symbol' | 'price';

/** Reads one message, or names what is wrong with it. Never throws. */
export function decodeQuoteMessage(message: Buffer): QuoteMessage | QuoteMessageFault {
  const fault = frameFault(message);
  if (fault !== undefined) return fault;
  const symbol = message.toString('latin1', SYMBOL_AT, SYMBOL_AT + SYMBOL_BYTES).trimEnd();
  if (!SYMBOL.test(symbol)) return 'symbol';
  const bid = message.readDoubleBE(BID_AT);
  const ask = message.readDoubleBE(ASK_AT);
  if (!Number.isFinite(bid) || !Number.isFinite(ask)) return 'price';
  const micros = Number(message.readBigUInt64BE(SOURCE_TIME_AT) / NANOS_PER_MICRO);
  const kind = message[1] === TICK ? 'tick' : 'snapshot';
  return { kind, symbol, bid, ask, sourceTimeMs: micros / MICROS_PER_MS };
}

function frameFault(message: Buffer): QuoteMessageFault | undefined {
  if (message.length === 0) return 'empty';
  if (message[0] !== VERSION) return 'version';
  if (message.length === 1) return 'length';
  if (message[1] !== TICK && message[1] !== SNAPSHOT) return 'type';
  return message.length === MESSAGE_BYTES ? undefined : 'length';
}

export function encodeQuoteMessage(quote: QuoteMessage): Buffer {
  assert(SYMBOL.test(quote.symbol), `${JSON.stringify(quote.symbol)} is no symbol`);
  const message = Buffer.alloc(MESSAGE_BYTES);
  message.writeUInt8(VERSION, 0);
  message.writeUInt8(quote.kind === 'tick' ? TICK : SNAPSHOT, 1);
  message.write(quote.symbol.padEnd(SYMBOL_BYTES, ' '), SYMBOL_AT, SYMBOL_BYTES, 'latin1');
  const micros = BigInt(Math.round(quote.sourceTimeMs * MICROS_PER_MS));
  message.writeBigUInt64BE(micros * NANOS_PER_MICRO, SOURCE_TIME_AT);
  message.writeDoubleBE(quote.bid, BID_AT);
  message.writeDoubleBE(quote.ask, ASK_AT);
  return message;
}
