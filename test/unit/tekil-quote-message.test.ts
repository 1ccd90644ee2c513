import type { QuoteMessage } from '../../src/quotes/decoder';
import { encodeQuoteMessage, tekilQuoteDecoder } from '../../src/quotes/tekil-quote-message';
import { vector } from '../support/quote-feed-vectors';

const { decode } = tekilQuoteDecoder;

const aTick: QuoteMessage = {
  kind: 'tick',
  symbol: 'EURUSD',
  bid: 1.0852,
  ask: 1.0854,
  sourceTimeMs: Date.parse('2026-03-14T10:00:00Z') + 123.456,
};
const aSnapshot: QuoteMessage = {
  kind: 'snapshot',
  symbol: 'BTC-USD',
  bid: -1.5,
  ask: 65_000.25,
  sourceTimeMs: Date.parse('2026-03-14T10:00:00Z'),
};

describe('a quote message', () => {
  test('is written as docs/quote-feed.md shows it', () => {
    expect(encodeQuoteMessage(aTick)).toEqual(vector('tick'));
    expect(encodeQuoteMessage(aSnapshot)).toEqual(vector('snapshot'));
  });

  test('is read as docs/quote-feed.md shows it', () => {
    expect(decode(vector('tick'))).toEqual(aTick);
    expect(decode(vector('snapshot'))).toEqual(aSnapshot);
  });

  test('may have a symbol that fills its field', () => {
    const symbol = 'A'.repeat(32);
    expect(decode(encodeQuoteMessage({ ...aTick, symbol }))).toMatchObject({ symbol });
  });

  test('does not mind its reserved bytes', () => {
    const message = encodeQuoteMessage(aTick);
    message.writeUInt16BE(0xffff, 2);
    expect(decode(message)).toEqual(aTick);
  });

  test.each(['', 'eurusd', 'EUR USD', 'A'.repeat(33)])('is not written for the symbol "%s"', (symbol) => {
    expect(() => encodeQuoteMessage({ ...aTick, symbol })).toThrow('is no symbol');
  });
});

const damaged = (change: (message: Buffer) => unknown): Buffer => {
  const message = encodeQuoteMessage(aTick);
  change(message);
  return message;
};

describe('a message that is no quote', () => {
  test.each([
    ['an empty one', Buffer.alloc(0)],
    ['one of another type', damaged((message) => message.write('N', 1))],
    ['a short one of another type', Buffer.from('\x01N', 'latin1')],
  ])('%s', (_, message) => {
    expect(decode(message)).toEqual({ kind: 'no_quote' });
  });
});

describe('a message that cannot be read as a quote is named by its fault', () => {
  const faults: Readonly<Record<string, readonly [string, Buffer]>> = {
    'one of another version': ['version', damaged((message) => message.writeUInt8(2, 0))],
    'a version alone': ['length', Buffer.of(1)],
    'a tick that is too short': ['length', encodeQuoteMessage(aTick).subarray(0, 59)],
    'a tick that is too long': ['length', Buffer.concat([encodeQuoteMessage(aTick), Buffer.of(0)])],
    'one without a symbol': ['symbol', damaged((message) => message.fill(' ', 4, 36))],
    'one with a symbol in small letters': ['symbol', damaged((message) => message.write('eur', 4))],
    'one padded with zeros': ['symbol', damaged((message) => message.fill(0, 10, 36))],
    'a bid that is no number': ['price', damaged((message) => message.writeDoubleBE(NaN, 44))],
    'an ask without an end': ['price', damaged((message) => message.writeDoubleBE(Infinity, 52))],
  };
  test.each(Object.entries(faults))('%s', (_, [fault, message]) => {
    expect(decode(message)).toEqual({ kind: 'unread', fault });
    expect(tekilQuoteDecoder.faults).toContain(fault);
  });
});
