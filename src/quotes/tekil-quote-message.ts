import { assert } from '../domain/assert';
import { SYMBOL } from '../domain/ids';
import { NO_QUOTE, type DecodedMessage, type QuoteDecoder, type QuoteMessage } from './decoder';

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

const FAULTS = ['length', 'version', 'symbol', 'price'] as const;

/** Of the nanoseconds that the message carries, microseconds are kept. */
export const tekilQuoteDecoder: QuoteDecoder = { faults: FAULTS, decode };

function decode(message: Buffer): DecodedMessage {
  if (!saysPrice(message)) return NO_QUOTE;
  if (message[0] !== VERSION) return unread('version');
  if (message.length !== MESSAGE_BYTES) return unread('length');
  const symbol = message.toString('latin1', SYMBOL_AT, SYMBOL_AT + SYMBOL_BYTES).trimEnd();
  if (!SYMBOL.test(symbol)) return unread('symbol');
  const bid = message.readDoubleBE(BID_AT);
  const ask = message.readDoubleBE(ASK_AT);
  if (!Number.isFinite(bid) || !Number.isFinite(ask)) return unread('price');
  const micros = Number(message.readBigUInt64BE(SOURCE_TIME_AT) / NANOS_PER_MICRO);
  const kind = message[1] === TICK ? 'tick' : 'snapshot';
  return { kind, symbol, bid, ask, sourceTimeMs: micros / MICROS_PER_MS };
}

/** Or might: of another version, and of a message that ends before its type, nobody knows. */
function saysPrice(message: Buffer): boolean {
  if (message.length < 2 || message[0] !== VERSION) return message.length > 0;
  return message[1] === TICK || message[1] === SNAPSHOT;
}

function unread(fault: (typeof FAULTS)[number]): DecodedMessage {
  return { kind: 'unread', fault };
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
