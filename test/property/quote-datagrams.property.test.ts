import fc from 'fast-check';
import { gateVerdict } from '../../src/contracts/quote-gate';
import { createMetrics } from '../../src/observability/metrics';
import { encodeEndOfSession, encodeMoldPacket, parseMoldPacket } from '../../src/quotes/moldudp64';
import { QuoteBook } from '../../src/quotes/quote-book';
import { encodeQuoteMessage, tekilQuoteDecoder } from '../../src/quotes/tekil-quote-message';

const RUNS = 2_000;
const U64 = { min: 0n, max: 2n ** 64n - 1n };

const quoteMessage = fc
  .record({
    kind: fc.constantFrom('tick' as const, 'snapshot' as const),
    symbol: fc.stringMatching(/^[A-Z0-9][A-Z0-9._/-]{0,31}$/),
    bid: fc.double({ noNaN: true, noDefaultInfinity: true }),
    ask: fc.double({ noNaN: true, noDefaultInfinity: true }),
    // Microseconds fit a double until the year 2255.
    sourceTimeMs: fc.integer({ min: 0, max: Date.UTC(2255, 0) }),
  })
  .map((quote) => ({ quote, bytes: encodeQuoteMessage(quote) }));

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const session = fc.constantFrom('A', 'B', '0123456789');
const sequence = fc.oneof(fc.bigInt({ min: 0n, max: 20n }), fc.bigInt(U64));
const message = fc.oneof(
  quoteMessage.map((made) => made.bytes),
  bytes(70),
);
const packet = fc
  .tuple(session, sequence, fc.array(message, { maxLength: 4 }))
  .map((parts) => encodeMoldPacket(...parts));
const end = fc.tuple(session, sequence).map((parts) => encodeEndOfSession(...parts));

/** A good packet with some of its bytes changed and its end cut off or lengthened. */
const damaged = fc
  .tuple(packet, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 4 }), bytes(3), fc.nat())
  .map(([good, changes, tail, cut]) => {
    for (const [at, value] of changes) good.writeUInt8(value, at % good.length);
    return Buffer.concat([good.subarray(0, good.length - (cut % 5)), tail]);
  });

const datagram = fc.oneof(packet, damaged, end, bytes(100));

const sumOf = async (metric: { get(): Promise<{ values: { value: number }[] }> }): Promise<number> =>
  (await metric.get()).values.reduce((sum, { value }) => sum + value, 0);

describe('whatever arrives', () => {
  test('is counted once, throws nothing and leaves a gate that answers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(datagram, { maxLength: 20 }), async (datagrams) => {
        const metrics = createMetrics();
        const thresholds = { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 };
        const rules = { kind: 'delta', heartbeatSequence: 'next' } as const;
        const book = new QuoteBook({ feed: 'test', rules, thresholds }, metrics);
        let [beats, messages] = [0, 0];
        for (const each of datagrams) {
          const parsed = parseMoldPacket(each);
          if (parsed.kind === 'heartbeat' || parsed.kind === 'end') beats += 1;
          if (parsed.kind === 'messages') messages += parsed.messages.length;
          book.receive(each);
        }
        expect(await sumOf(metrics.quotePackets)).toBe(datagrams.length);
        expect(await sumOf(metrics.quoteHeartbeats)).toBe(beats);
        expect(await sumOf(metrics.quoteTicks)).toBe(messages);
        for (const symbol of [...book.symbols(), 'EURUSD']) gateVerdict.parse(book.verdict(symbol));
      }),
      { numRuns: RUNS },
    );
  });

  test('what was written as a packet is read as that packet', () => {
    fc.assert(
      fc.property(session, fc.bigInt({ ...U64, max: U64.max - 10n }), fc.array(message), (...parts) => {
        const [id, first, messages] = parts;
        const parsed = parseMoldPacket(encodeMoldPacket(id, first, messages));
        expect(parsed).toEqual(
          messages.length === 0
            ? { kind: 'heartbeat', session: id, sequence: first }
            : { kind: 'messages', session: id, sequence: first, messages },
        );
      }),
      { numRuns: RUNS },
    );
  });

  test('what was written as a quote is read as that quote', () => {
    fc.assert(
      fc.property(quoteMessage, ({ quote, bytes: written }) => {
        expect(tekilQuoteDecoder.decode(written)).toEqual(quote);
      }),
      { numRuns: RUNS },
    );
  });
});
