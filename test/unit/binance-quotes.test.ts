import { createMetrics } from '../../src/observability/metrics';
import { readSnapshot, type BinanceStream } from '../../src/quotes/binance-messages';
import { BinanceQuotes } from '../../src/quotes/binance-quotes';
import {
  asSnapshot,
  depthFrame,
  RECORDED_SYMBOLS,
  recordedDepth,
  recordedFrames,
  recordedSnapshot,
  recordedSnapshots,
  SlowDepth,
  type RecordedFrame,
  type RecordedSnapshot,
  type SlowEvent,
  tickerFrame,
} from '../support/binance';
import { counted, total } from '../support/counted';
import { fakeClock } from '../support/fake-clock';
import { testWithRecordings } from '../support/recordings';
import { seeded } from '../support/seeded';

const THRESHOLDS = { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 };
const SYMBOL = 'BTCUSDT';
const SNAPSHOT = asSnapshot({ lastUpdateId: 100, bids: [['10', '1']], asks: [['11', '1']] });

const setup = (
  stream: BinanceStream = 'spot-depth',
  symbols: readonly string[] = [SYMBOL],
  startMs?: number,
) => {
  const clock = fakeClock(startMs);
  const metrics = createMetrics();
  const wanted: string[] = [];
  const quotes = new BinanceQuotes(
    {
      feed: 'binance',
      stream,
      symbols,
      thresholds: THRESHOLDS,
      maxClockDriftMs: 100,
      wantSnapshot: (symbol) => wanted.push(symbol),
      now: clock.now,
    },
    metrics,
  );
  const codeOf = (symbol = SYMBOL): string => {
    const { verdict, code } = quotes.look(symbol);
    return code ?? verdict;
  };
  /** An event that was made right now. */
  const event = (U: number, u: number, fields: object = {}): boolean =>
    quotes.receive(depthFrame({ U, u, E: clock.wallMs, ...fields }));
  return { clock, metrics, wanted, quotes, codeOf, event };
};

/** The same, with a book that stands at 101. */
const setupSynced = (symbols: readonly string[] = [SYMBOL]) => {
  const system = setup('spot-depth', symbols);
  system.quotes.connected();
  for (const s of symbols) {
    system.event(100, 100, { s });
    system.quotes.load(s, SNAPSHOT);
    system.event(101, 101, { s });
    expect(system.codeOf(s)).toBe('open');
  }
  system.wanted.length = 0;
  return system;
};

describe('the gate of a symbol of Binance', () => {
  test('has no quote until a snapshot was loaded, which is wanted with the first event', () => {
    const { quotes, wanted, codeOf, event } = setup();
    expect(codeOf()).toBe('NO_QUOTE');
    quotes.connected();
    expect([codeOf(), wanted]).toEqual(['NO_QUOTE', []]);
    event(99, 100);
    event(101, 101, { b: [['10.5', '3']] });
    expect([codeOf(), wanted, quotes.awaitsSnapshot(SYMBOL)]).toEqual(['NO_QUOTE', [SYMBOL, SYMBOL], true]);
    quotes.load(SYMBOL, SNAPSHOT);
    expect(quotes.awaitsSnapshot(SYMBOL)).toBe(false);
    expect(quotes.verdict(SYMBOL)).toMatchObject({
      verdict: 'open',
      feed: 'binance',
      session: '2026-03-14T10:00:00.000Z#1/1',
      lastSequence: '101',
      bid: 10.5,
      ask: 11,
      suspect: false,
      lost: '0',
    });
    expect(quotes.symbols()).toEqual([SYMBOL]);
  });

  test('is suspect from a gap until the next snapshot, however many events come', async () => {
    const { quotes, metrics, wanted, codeOf, event } = setupSynced();
    event(105, 106);
    expect([codeOf(), wanted]).toEqual(['SUSPECT_QUOTE', [SYMBOL]]);
    event(107, 107);
    quotes.pong();
    expect(codeOf()).toBe('SUSPECT_QUOTE');
    quotes.load(SYMBOL, { ...SNAPSHOT, lastUpdateId: 104 });
    expect([codeOf(), quotes.look(SYMBOL).lost]).toEqual(['open', '3']);
    expect(quotes.look(SYMBOL)).toMatchObject({
      lastSequence: '107',
      session: '2026-03-14T10:00:00.000Z#1/2',
    });
    expect(await counted(metrics.quoteResyncs)).toEqual({ gap: 1 });
    expect(await total(metrics.quoteTicksLost)).toBe(3);
    event(108, 108);
    expect(codeOf()).toBe('open');
  });

  test('counts a gap that comes while it waits, and stays closed when its snapshot is too old', () => {
    const { quotes, wanted, codeOf, event } = setupSynced();
    event(103, 103);
    event(106, 106);
    expect(quotes.look(SYMBOL).lost).toBe('3');
    wanted.length = 0;
    quotes.load(SYMBOL, { ...SNAPSHOT, lastUpdateId: 104 });
    expect([codeOf(), wanted]).toEqual(['SUSPECT_QUOTE', [SYMBOL]]);
    quotes.load(SYMBOL, { ...SNAPSHOT, lastUpdateId: 105 });
    expect([codeOf(), quotes.look(SYMBOL).lost]).toEqual(['open', '3']);
  });

  test('is suspect when its book cannot be right', () => {
    const { quotes, codeOf, event } = setupSynced();
    event(102, 102, { b: [['11', '1']] });
    expect(codeOf()).toBe('SUSPECT_QUOTE');
    quotes.load(SYMBOL, { ...SNAPSHOT, lastUpdateId: 102 });
    expect([codeOf(), quotes.look(SYMBOL).lost]).toEqual(['open', '0']);
  });

  test('is not moved by an event that it has had', async () => {
    const { metrics, codeOf, event } = setupSynced();
    event(100, 101, { b: [['10.9', '1']] });
    expect(codeOf()).toBe('open');
    expect(await counted(metrics.quoteTicks)).toEqual({ held: 1, taken: 2, repeat: 1 });
  });

  test('has nothing to do with the gaps of another symbol', () => {
    const { codeOf, event } = setupSynced([SYMBOL, 'ETHUSDT']);
    event(105, 105, { s: 'ETHUSDT' });
    expect([codeOf(), codeOf('ETHUSDT')]).toEqual(['open', 'SUSPECT_QUOTE']);
  });

  test('is closed when nothing is heard, and pongs alone do not make its price young', () => {
    const { quotes, clock, codeOf } = setupSynced();
    clock.pass(1_000);
    expect(codeOf()).toBe('open');
    clock.pass(1);
    expect(codeOf()).toBe('STALE_QUOTE');
    quotes.pong();
    expect(codeOf()).toBe('open');
    clock.pass(1_000);
    quotes.pong();
    expect(codeOf()).toBe('STALE_AT_SOURCE');
  });

  test('is closed by events that are old when they come', () => {
    const { clock, codeOf, event } = setupSynced();
    clock.pass(2_500);
    event(102, 102, { E: clock.wallMs - 2_500 });
    expect(codeOf()).toBe('STALE_AT_SOURCE');
  });

  test('is suspect as soon as the connection is lost, and until a snapshot of the next one', async () => {
    const { quotes, clock, metrics, wanted, codeOf, event } = setupSynced();
    expect(quotes.feeds()).toEqual([
      {
        feed: 'binance',
        session: '2026-03-14T10:00:00.000Z#1',
        lost: '0',
        lines: [{ line: 'A', silenceMs: 0, alive: true }],
      },
    ]);
    quotes.disconnected();
    expect([codeOf(), quotes.silenceMs]).toEqual(['SUSPECT_QUOTE', null]);
    expect(quotes.feeds()[0]!.lines).toEqual([{ line: 'A', silenceMs: null, alive: false }]);
    clock.pass(10);
    quotes.connected();
    quotes.pong();
    expect([codeOf(), wanted]).toEqual(['SUSPECT_QUOTE', []]);
    // Nothing was missed, as it happens; but that is not to be relied upon.
    event(102, 102);
    expect([codeOf(), wanted]).toEqual(['SUSPECT_QUOTE', [SYMBOL]]);
    quotes.load(SYMBOL, { ...SNAPSHOT, lastUpdateId: 101 });
    expect(quotes.look(SYMBOL)).toMatchObject({ verdict: 'open', session: '2026-03-14T10:00:00.010Z#2/1' });
    expect(await total(metrics.quoteSessions)).toBe(2);
  });

  test('is not opened by a snapshot that arrives on the next connection before its first event', () => {
    const { quotes, codeOf } = setupSynced();
    quotes.disconnected();
    quotes.connected();
    quotes.load(SYMBOL, SNAPSHOT);
    expect(codeOf()).toBe('SUSPECT_QUOTE');
  });

  test('is never open for a symbol that was not asked for', () => {
    expect(setupSynced().codeOf('ETHUSDT')).toBe('NO_QUOTE');
  });

  test('is closed when the venue’s clock is beyond belief', () => {
    const { quotes, clock, codeOf, event } = setup();
    quotes.connected();
    event(100, 100, { E: clock.wallMs - 501 });
    quotes.load(SYMBOL, SNAPSHOT);
    expect(codeOf()).toBe('CLOCK_OFFSET');
  });
});

describe('a frame', () => {
  test('of a symbol that cannot be read makes that symbol suspect until its next snapshot', async () => {
    const { quotes, metrics, codeOf, event } = setupSynced([SYMBOL, 'ETHUSDT']);
    expect(event(102, 102, { b: [['-1', '1']] })).toBe(true);
    expect([codeOf(), codeOf('ETHUSDT')]).toEqual(['SUSPECT_QUOTE', 'open']);
    event(103, 103);
    quotes.load(SYMBOL, { ...SNAPSHOT, lastUpdateId: 103 });
    expect(codeOf()).toBe('open');
    expect(await counted(metrics.quoteStreamFrames)).toEqual({ depth: 5, unread_fields: 1 });
    expect(await counted(metrics.quoteResyncs)).toEqual({ unread: 1 });
  });

  const changed = {
    'no event': { e: 'trade' },
    'without a time': { E: undefined },
    'of another symbol': { s: 'ETHUSDT' },
    'with a number that no double holds': { u: 2 ** 53 },
    'with a number that is text': { U: '102' },
    'that runs backward': { U: 105, u: 103 },
    'without a side': { a: undefined },
    'with a price in words': { b: [['ten', '1']] },
    'with a price of nothing': { b: [['0', '1']] },
    'with a quantity below nothing': { a: [['11', '-1']] },
    'with a price without a quantity': { a: [['11']] },
    'with a price beyond all bounds': { a: [['1'.repeat(400), '1']] },
  };
  test.each(Object.entries(changed))('cannot be read: %s', async (_, fields) => {
    const { quotes, metrics, codeOf } = setupSynced();
    const data = { e: 'depthUpdate', E: 1, s: SYMBOL, U: 102, u: 102, b: [], a: [], ...fields };
    expect(quotes.receive(JSON.stringify({ stream: 'btcusdt@depth@100ms', data }))).toBe(true);
    expect(codeOf()).toBe('SUSPECT_QUOTE');
    expect(await counted(metrics.quoteStreamFrames)).toMatchObject({ unread_fields: 1 });
  });

  test.each(['{}', '[]', 'null', '17', '{"stream":"ethusdt@depth@100ms"}', '{"result":null,"id":1}'])(
    'that is none of ours changes nothing: %s',
    async (text) => {
      const { quotes, metrics, codeOf } = setupSynced();
      expect(quotes.receive(text)).toBe(true);
      expect(codeOf()).toBe('open');
      expect(await counted(metrics.quoteStreamFrames)).toMatchObject({ other: 1 });
    },
  );

  test.each(['', 'nonsense', '{"stream":'])('that is no JSON ends the connection: "%s"', (text) => {
    expect(setupSynced().quotes.receive(text)).toBe(false);
  });
});

describe('the bookTicker stream of futures', () => {
  const setupTicker = () => {
    const system = setup('futures-bookTicker');
    system.quotes.connected();
    const ticker = (u: number, b: string) =>
      system.quotes.receive(tickerFrame({ u, b, E: system.clock.wallMs }));
    return { ...system, ticker };
  };

  test('gives its last price, and its numbers only grow', async () => {
    const { quotes, metrics, wanted, codeOf, ticker } = setupTicker();
    ticker(100, '10');
    ticker(500, '12');
    ticker(400, '11');
    expect(quotes.look(SYMBOL)).toMatchObject({ verdict: 'open', bid: 12, lastSequence: '500', lost: '0' });
    expect(await counted(metrics.quoteTicks)).toEqual({ taken: 2, repeat: 1 });
    expect([codeOf(), wanted]).toEqual(['open', []]);
  });

  test('is suspect after a message that cannot be read and after a lost connection, until the next price', () => {
    const { quotes, codeOf, ticker } = setupTicker();
    ticker(100, '10');
    ticker(101, 'ten');
    expect(codeOf()).toBe('SUSPECT_QUOTE');
    ticker(102, '10');
    expect(codeOf()).toBe('open');
    quotes.disconnected();
    quotes.connected();
    expect(codeOf()).toBe('SUSPECT_QUOTE');
    ticker(103, '10');
    expect(codeOf()).toBe('open');
  });

  test('takes no price without a time, as spot sends it', async () => {
    const { quotes, metrics, codeOf } = setupTicker();
    const data = { u: 1, s: SYMBOL, b: '10', B: '1', a: '11', A: '1' };
    quotes.receive(JSON.stringify({ stream: 'btcusdt@bookTicker', data }));
    expect(codeOf()).toBe('NO_QUOTE');
    expect(await counted(metrics.quoteStreamFrames)).toEqual({ unread_fields: 1 });
  });
});

describe('the recorded depth of four symbols', () => {
  testWithRecordings('gives after each event what a slow reading gives', async () => {
    const inputs: (RecordedFrame | RecordedSnapshot)[] = [...recordedFrames(), ...recordedSnapshots()];
    inputs.sort((a, b) => a.arrivedMs - b.arrivedMs);
    const startMs = inputs[0]!.arrivedMs;
    const { clock, metrics, quotes } = setup('spot-depth', RECORDED_SYMBOLS, startMs);
    const slow = new Map(RECORDED_SYMBOLS.map((symbol) => [symbol, new SlowDepth(recordedSnapshot(symbol))]));
    let compared = 0;
    quotes.connected();
    for (const input of inputs) {
      clock.pass(input.arrivedMs - clock.wallMs);
      if ('symbol' in input) {
        quotes.load(input.symbol, readSnapshot(input.text)!);
        continue;
      }
      quotes.receive(input.text);
      const { stream, data } = JSON.parse(input.text) as { stream: string; data: SlowEvent };
      const expected = stream.includes('@depth') ? slow.get(data.s)!.take(data) : 'of another stream';
      if (typeof expected === 'string') continue;
      compared += 1;
      const { verdict, bid, ask, lastSequence } = quotes.look(data.s);
      expect({ verdict, bid, ask, lastSequence }).toEqual({
        verdict: 'open',
        ...expected,
        lastSequence: String(data.u),
      });
    }
    // By hand: 177 depth frames, of which 5 are older than their snapshots, one of them coming after it.
    expect(compared).toBe(172);
    expect(await counted(metrics.quoteStreamFrames)).toEqual({ depth: 177, other: inputs.length - 4 - 177 });
    expect(await counted(metrics.quoteTicks)).toEqual({ held: 4, repeat: 1, taken: 176 });
    expect([await total(metrics.quoteTicksLost), await total(metrics.quoteResyncs)]).toEqual([0, 0]);
  });

  testWithRecordings.each([1, 2, 3, 4, 5])('loses exactly what is left out (seed %i)', async (seed) => {
    const random = seeded(seed);
    const { metrics, wanted, quotes } = setup('spot-depth', RECORDED_SYMBOLS);
    quotes.connected();
    let injected = 0;
    let doubts = 0;
    for (const symbol of RECORDED_SYMBOLS) {
      const truth = new SlowDepth(recordedSnapshot(symbol));
      const events = recordedDepth(symbol);
      // The first shows where the stream begins, and the last that one before it is missing.
      const isLeftOut = events.map((_, index) => index > 0 && index < events.length - 1 && random() < 0.2);
      for (const [index, event] of events.entries()) {
        truth.take(event);
        if (isLeftOut[index]!) {
          injected += event.u - event.U + 1;
          continue;
        }
        const before = quotes.look(symbol);
        quotes.receive(depthFrame(event));
        const after = quotes.look(symbol);
        if (index > 0 && isLeftOut[index - 1]!) {
          doubts += 1;
          if (before.bid !== null) expect([before.lost, after.suspect]).not.toEqual([after.lost, false]);
        }
        if (wanted.splice(0).length > 0) quotes.load(symbol, asSnapshot(truth.snapshot()));
        const { bids, asks } = asSnapshot(truth.snapshot());
        expect(quotes.look(symbol)).toMatchObject({
          suspect: false,
          bid: Math.max(...bids.map(([price]) => price)),
          ask: Math.min(...asks.map(([price]) => price)),
        });
      }
    }
    expect(injected).toBeGreaterThan(20);
    expect(await total(metrics.quoteTicksLost)).toBe(injected);
    expect(await counted(metrics.quoteResyncs)).toEqual({ gap: doubts });
  });
});
