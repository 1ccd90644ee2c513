import fc from 'fast-check';
import { createMetrics } from '../../src/observability/metrics';
import { BINANCE_STREAMS, type BinanceStream } from '../../src/quotes/binance-messages';
import { BinanceQuotes } from '../../src/quotes/binance-quotes';
import { asSnapshot, depthFrame, tickerFrame } from '../support/binance';
import { counted, total } from '../support/counted';
import { fakeClock } from '../support/fake-clock';

const RUNS = 300;
const SYMBOL = 'BTCUSDT';

const id = fc.integer({ min: 95, max: 125 });
const level = fc.tuple(fc.constantFrom('9', '10', '11', '12', 'x', '0'), fc.constantFrom('0', '1', '-1'));
const sound = fc.oneof(
  fc
    .record({ U: id, u: id, pu: id, b: fc.array(level), a: fc.array(level) })
    .map((fields) => depthFrame({ E: Date.parse('2026-03-14T10:00:00Z'), ...fields })),
  id.map((u) => tickerFrame({ u, b: '10', E: Date.parse('2026-03-14T10:00:00Z') })),
);
/** Some characters of it are others, or are not there. */
const mutated = fc
  .tuple(sound, fc.array(fc.tuple(fc.nat(300), fc.constantFrom('', '"', '{', ']', '9', ',', 'e', '\u0000'))))
  .map(([frame, changes]) =>
    changes.reduce((text, [at, other]) => text.slice(0, at) + other + text.slice(at + 1), frame),
  );
const input = fc.oneof(
  { weight: 4, arbitrary: fc.record({ frame: sound }) },
  { weight: 4, arbitrary: fc.record({ frame: mutated }) },
  { weight: 1, arbitrary: fc.record({ frame: fc.oneof(fc.string(), fc.json()) }) },
  { weight: 1, arbitrary: fc.record({ snapshot: id }) },
  { weight: 1, arbitrary: fc.constant('pong' as const) },
  { weight: 1, arbitrary: fc.constant('reconnected' as const) },
);
type Input = typeof input extends fc.Arbitrary<infer T> ? T : never;

function give(quotes: BinanceQuotes, given: Input): void {
  if (given === 'pong') quotes.pong();
  else if (given === 'reconnected') {
    quotes.disconnected();
    quotes.connected();
  } else if ('frame' in given) quotes.receive(given.frame);
  else {
    const snapshot = { lastUpdateId: given.snapshot, bids: [['9', '1']], asks: [['12', '1']] } as const;
    quotes.load(SYMBOL, asSnapshot(snapshot));
  }
}

const setup = (stream: BinanceStream) => {
  const clock = fakeClock();
  const metrics = createMetrics();
  const thresholds = { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 };
  const options = { feed: 'binance', stream, symbols: [SYMBOL], thresholds, maxClockDriftMs: 100 };
  const quotes = new BinanceQuotes({ ...options, wantSnapshot: () => undefined, now: clock.now }, metrics);
  quotes.connected();
  return { quotes, metrics };
};

describe('whatever Binance sends', () => {
  test.each(BINANCE_STREAMS)(
    '%s: nothing is thrown, all is counted, and nothing crossed is open',
    async (stream) => {
      await fc.assert(
        fc.asyncProperty(fc.array(input, { maxLength: 60 }), async (inputs) => {
          const { quotes, metrics } = setup(stream);
          let lost = 0n;
          for (const given of inputs) {
            give(quotes, given);
            const verdict = quotes.look(SYMBOL);
            if (stream !== 'futures-bookTicker' && verdict.verdict === 'open') {
              expect(verdict.bid!).toBeLessThan(verdict.ask!);
            }
            expect(BigInt(verdict.lost)).toBeGreaterThanOrEqual(lost);
            lost = BigInt(verdict.lost);
          }
          const frames = inputs.filter((given) => typeof given === 'object' && 'frame' in given).length;
          expect(await total(metrics.quoteStreamFrames)).toBe(frames);
          expect(await total(metrics.quoteTicksLost)).toBe(Number(lost));
          const { depth = 0, ticker = 0 } = await counted(metrics.quoteStreamFrames);
          const { restart, ...ticks } = await counted(metrics.quoteTicks);
          expect(restart).toBeUndefined();
          expect(Object.values(ticks).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(
            depth + ticker,
          );
        }),
        { numRuns: RUNS },
      );
    },
  );
});
