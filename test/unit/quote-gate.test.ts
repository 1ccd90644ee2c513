import { createMetrics } from '../../src/observability/metrics';
import { gateVerdict } from '../../src/contracts/quote-gate';
import type { QuoteMessage } from '../../src/quotes/decoder';
import { encodeEndOfSession, encodeMoldPacket } from '../../src/quotes/moldudp64';
import type { FeedAlarm } from '../../src/quotes/alarm-log';
import { QuoteBook } from '../../src/quotes/quote-book';
import { encodeQuoteMessage } from '../../src/quotes/tekil-quote-message';

const START_MS = Date.parse('2026-03-14T10:00:00Z');
const HOUR_MS = 3_600_000;

/** A book with both clocks in the test's hand; time passes on both unless one is set. */
const setup = (kind: 'full' | 'delta' = 'full') => {
  const now = { monotonicMs: 1_000, wallMs: START_MS };
  const thresholds = { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 };
  const rules = { kind, heartbeatSequence: 'next' } as const;
  const metrics = createMetrics();
  const alarms: FeedAlarm[] = [];
  const onAlarm = (alarm: FeedAlarm) => alarms.push(alarm);
  const book = new QuoteBook({ feed: 'test', rules, thresholds, now: () => ({ ...now }), onAlarm }, metrics);
  let next = 1n;
  const quote = (change: Partial<QuoteMessage> = {}) => {
    const defaults = {
      kind: 'tick',
      symbol: 'EURUSD',
      bid: 1.1,
      ask: 1.2,
      sourceTimeMs: now.wallMs,
    } as const;
    book.receive(encodeMoldPacket('S1', next, [encodeQuoteMessage({ ...defaults, ...change })]));
    next += 1n;
  };
  const heartbeat = () => {
    book.receive(encodeMoldPacket('S1', next, []));
  };
  const pass = (ms: number) => {
    now.monotonicMs += ms;
    now.wallMs += ms;
  };
  return {
    book,
    metrics,
    alarms,
    now,
    quote,
    heartbeat,
    pass,
    lose: (count: bigint) => (next += count),
    end: () => {
      book.receive(encodeEndOfSession('S1', next));
    },
    /** A second of ticks every 100 ms and of nothing else. */
    tickFor: (ms: number, stamped: () => Partial<QuoteMessage> = () => ({})) => {
      for (let passed = 0; passed < ms; passed += 100) {
        pass(100);
        quote(stamped());
      }
    },
    verdict: (symbol = 'EURUSD') => gateVerdict.parse(book.verdict(symbol)),
  };
};

describe('the gate', () => {
  test('is open for a fresh price and shows all its evidence', () => {
    const { quote, pass, verdict } = setup();
    quote();
    pass(40);
    expect(verdict()).toEqual({
      symbol: 'EURUSD',
      verdict: 'open',
      feed: 'test',
      session: 'S1',
      lastSequence: '1',
      silenceMs: 40,
      sourceAgeMs: 40,
      clockOffsetMs: 0,
      suspect: false,
      suspectSince: null,
      lost: '0',
      bid: 1.1,
      ask: 1.2,
      decidedAt: '2026-03-14T10:00:00.040Z',
    });
  });

  test('is closed for a symbol that was never quoted, whatever else is quoted', () => {
    const { quote, pass, verdict } = setup();
    expect(verdict()).toMatchObject({ verdict: 'closed', code: 'NO_QUOTE', silenceMs: null });
    quote();
    pass(7);
    expect(verdict('XAUUSD')).toMatchObject({
      verdict: 'closed',
      code: 'NO_QUOTE',
      reason: 'no quote of XAUUSD has arrived',
      silenceMs: 7,
      lastSequence: null,
      bid: null,
    });
  });

  test('is closed when the feed has been silent for more than a second', () => {
    const { quote, pass, verdict } = setup();
    quote();
    pass(1_000);
    expect(verdict()).toMatchObject({ verdict: 'open' });
    pass(1);
    expect(verdict()).toMatchObject({
      code: 'STALE_QUOTE',
      reason: 'stale quote: 1001 ms',
      silenceMs: 1_001,
    });
  });

  // https://github.com/marketcalls/openalgo/issues/1638 and https://github.com/nautechsystems/nautilus_trader/issues/4298
  test('is closed for an old price however alive the connection is', () => {
    const { quote, heartbeat, pass, verdict } = setup();
    quote();
    for (let second = 1; second <= 325; second += 1) {
      pass(1_000);
      heartbeat();
    }
    expect(verdict()).toMatchObject({ code: 'STALE_AT_SOURCE', silenceMs: 0, sourceAgeMs: 325_000 });
  });

  // https://github.com/marketcalls/openalgo/issues/1638
  test('is closed for a price that was six weeks old when it arrived beside fresh ones', () => {
    const { quote, verdict } = setup();
    quote({ symbol: 'GBPUSD' });
    quote({ sourceTimeMs: START_MS - 42 * 24 * HOUR_MS });
    expect(verdict()).toMatchObject({ code: 'STALE_AT_SOURCE' });
    expect(verdict('GBPUSD')).toMatchObject({ verdict: 'open' });
  });

  test('is open while heartbeats bridge a pause in which the price is still fresh', () => {
    const { quote, heartbeat, pass, verdict } = setup();
    quote();
    pass(900);
    heartbeat();
    pass(900);
    heartbeat();
    expect(verdict()).toMatchObject({ verdict: 'open', silenceMs: 0, sourceAgeMs: 1_800 });
    pass(201);
    expect(verdict()).toMatchObject({ code: 'STALE_AT_SOURCE', reason: 'stale at source: 2001 ms' });
  });

  test('is closed while the price is suspect, and says so', () => {
    const { quote, lose, heartbeat, verdict } = setup();
    quote();
    lose(3n);
    heartbeat();
    expect(verdict()).toMatchObject({ code: 'SUSPECT_QUOTE', suspect: true, lost: '3' });
    quote();
    expect(verdict()).toMatchObject({
      verdict: 'open',
      suspect: false,
      suspectSince: null,
      lastSequence: '5',
    });
  });

  test('says since when the price is suspect: since the first doubt, however many follow', () => {
    const { quote, lose, heartbeat, pass, verdict } = setup('delta');
    quote({ kind: 'snapshot' });
    pass(100);
    for (let time = 0; time < 3; time += 1) {
      lose(1n);
      heartbeat();
      quote();
      pass(100);
    }
    expect(verdict()).toMatchObject({ code: 'SUSPECT_QUOTE', suspectSince: '2026-03-14T10:00:00.100Z' });
    quote({ kind: 'snapshot' });
    expect(verdict()).toMatchObject({ suspect: false, suspectSince: null });
    lose(1n);
    heartbeat();
    expect(verdict()).toMatchObject({ suspectSince: '2026-03-14T10:00:00.400Z', lost: '4' });
  });

  test('of another symbol is not healed by this one', () => {
    const { quote, lose, pass, verdict } = setup();
    quote();
    quote({ symbol: 'GBPUSD' });
    pass(5);
    lose(1n);
    quote();
    expect(verdict()).toMatchObject({ verdict: 'open' });
    expect(verdict('GBPUSD')).toMatchObject({
      code: 'SUSPECT_QUOTE',
      suspectSince: '2026-03-14T10:00:00.005Z',
    });
  });

  test('is closed on a delta feed until a snapshot', () => {
    const { quote, verdict } = setup('delta');
    quote();
    expect(verdict()).toMatchObject({ code: 'SUSPECT_QUOTE' });
    quote({ kind: 'snapshot' });
    expect(verdict()).toMatchObject({ verdict: 'open' });
  });

  test('is closed when the provider has ended its session', () => {
    const { quote, end, verdict } = setup();
    quote();
    end();
    expect(verdict()).toMatchObject({
      code: 'SUSPECT_QUOTE',
      reason: 'the provider has ended its session',
      suspect: true,
    });
  });

  test('names the first reason: silence before offset, offset before age, age before suspicion', () => {
    const { quote, heartbeat, lose, pass, verdict } = setup();
    quote({ sourceTimeMs: START_MS - 10_000 });
    lose(1n);
    heartbeat();
    pass(5_000);
    expect(verdict().code).toBe('STALE_QUOTE');
    heartbeat();
    expect(verdict().code).toBe('CLOCK_OFFSET');
    quote({ symbol: 'GBPUSD' });
    lose(1n);
    heartbeat();
    heartbeat();
    expect(verdict().code).toBe('STALE_AT_SOURCE');
    expect(verdict('GBPUSD').code).toBe('SUSPECT_QUOTE');
  });
});

describe('the clocks of the gate', () => {
  test('a feed with a clock a little behind is measured and open', () => {
    const { now, tickFor, verdict } = setup();
    tickFor(2_000, () => ({ sourceTimeMs: now.wallMs - 400 }));
    expect(verdict()).toMatchObject({ verdict: 'open', clockOffsetMs: 400, sourceAgeMs: 0 });
  });

  test('a feed that is uniformly ten minutes late is not believed to be fresh', () => {
    const { now, tickFor, verdict } = setup();
    tickFor(120_000, () => ({ sourceTimeMs: now.wallMs - 600_000 }));
    expect(verdict()).toMatchObject({ code: 'CLOCK_OFFSET', reason: 'clock offset of the feed: 600000 ms' });
  });

  test('a feed that becomes late is closed at once and stays closed', () => {
    const { now, tickFor, verdict } = setup();
    tickFor(5_000);
    tickFor(100, () => ({ sourceTimeMs: now.wallMs - 3_000 }));
    expect(verdict()).toMatchObject({ code: 'STALE_AT_SOURCE', sourceAgeMs: 3_000 });
    tickFor(120_000, () => ({ sourceTimeMs: now.wallMs - 3_000 }));
    expect(verdict()).toMatchObject({ code: 'CLOCK_OFFSET' });
  });

  test('a stamp in the future beyond the tolerance is not fresh, now or when its time has come', () => {
    const { now, quote, heartbeat, pass, tickFor, verdict } = setup();
    tickFor(1_000);
    quote({ symbol: 'GBPUSD', sourceTimeMs: now.wallMs + 600 });
    expect(verdict('GBPUSD')).toMatchObject({
      code: 'STALE_AT_SOURCE',
      reason: 'stamped 600 ms in the future',
      sourceAgeMs: -600,
    });
    expect(verdict('EURUSD')).toMatchObject({ verdict: 'open' });
    quote({ symbol: 'USDJPY', sourceTimeMs: now.wallMs + HOUR_MS });
    pass(HOUR_MS);
    heartbeat();
    expect(verdict('USDJPY')).toMatchObject({ code: 'STALE_AT_SOURCE', sourceAgeMs: 0 });
  });

  test.each([HOUR_MS, -HOUR_MS])(
    'their clock set by %s ms closes the gate for good, and set back opens it',
    (step) => {
      const { now, tickFor, verdict } = setup();
      tickFor(1_000);
      tickFor(100, () => ({ sourceTimeMs: now.wallMs + step }));
      expect(verdict()).toMatchObject({ verdict: 'closed', code: 'STALE_AT_SOURCE', silenceMs: 0 });
      tickFor(120_000, () => ({ sourceTimeMs: now.wallMs + step }));
      expect(verdict()).toMatchObject({ verdict: 'closed', code: 'CLOCK_OFFSET' });
      tickFor(1_000);
      expect(verdict()).toMatchObject({ verdict: 'open', clockOffsetMs: 0 });
    },
  );

  test('a clock offset that moves is told once, with where it was and where it is', async () => {
    const { now, tickFor, metrics, alarms } = setup();
    const lateBy = (ms: number) => () => ({ sourceTimeMs: now.wallMs - ms });
    tickFor(10_000, lateBy(20));
    tickFor(100_000, lateBy(119));
    expect(alarms).toEqual([]);
    // Later by 130 ms: seen when the last minute has nothing faster any more.
    tickFor(100_000, lateBy(150));
    expect(alarms).toEqual([{ kind: 'clock_drift', fromMs: 20, toMs: 150 }]);
    // Faster is seen at once.
    tickFor(2_000, lateBy(20));
    expect(alarms).toEqual([
      { kind: 'clock_drift', fromMs: 20, toMs: 150 },
      { kind: 'clock_drift', fromMs: 150, toMs: 20 },
    ]);
    expect((await metrics.quoteClockDrifts.get()).values[0]?.value).toBe(2);
  });

  test('a clock offset that moves by as much in more than five minutes is pace and no alarm', () => {
    const { now, tickFor, alarms } = setup();
    const start = now.wallMs;
    tickFor(900_000, () => ({ sourceTimeMs: now.wallMs - (now.wallMs - start) / 6_000 }));
    expect(alarms).toEqual([]);
  });

  test.each([HOUR_MS, -HOUR_MS])(
    'our clock set by %s ms never opens a closed gate, nor moves silence',
    (step) => {
      const { now, tickFor, pass, verdict } = setup();
      tickFor(1_000);
      pass(10);
      now.wallMs += step;
      expect(verdict()).toMatchObject({ verdict: 'closed', code: 'STALE_AT_SOURCE', silenceMs: 10 });
      tickFor(120_000, () => ({ sourceTimeMs: now.wallMs - step }));
      expect(verdict()).toMatchObject({ verdict: 'closed', code: 'CLOCK_OFFSET' });
      now.wallMs -= step;
      tickFor(1_000);
      expect(verdict()).toMatchObject({ verdict: 'open', clockOffsetMs: 0 });
    },
  );
});

describe('the counters of a book', () => {
  const counted = async (metric: { get(): Promise<{ values: { labels: object; value: number }[] }> }) =>
    Object.fromEntries(
      (await metric.get()).values.map(({ labels, value }) => [
        Object.values(labels)
          .filter((label) => label !== 'test')
          .join(' '),
        value,
      ]),
    );

  test('account for every datagram and every message', async () => {
    const { book, metrics, quote, heartbeat, lose, end, verdict } = setup();
    quote();
    heartbeat();
    lose(4n);
    heartbeat();
    book.receive(encodeMoldPacket('S1', 1n, [encodeQuoteMessage(aTick)]));
    book.receive(encodeMoldPacket('S1', 6n, [Buffer.from([1, 0x4e]), Buffer.alloc(0), Buffer.from('A')]));
    book.receive(Buffer.from('hello'));
    verdict();
    verdict('XAUUSD');
    end();
    expect(await counted(metrics.quotePackets)).toEqual({ messages: 3, heartbeat: 2, short: 1, end: 1 });
    expect(await counted(metrics.quoteTicks)).toEqual({ taken: 1, repeat: 1, other: 2, unread_version: 1 });
    expect(await counted(metrics.quoteHeartbeats)).toEqual({ alive: 1, gap: 1, ended: 1 });
    expect(await counted(metrics.quoteTicksLost)).toEqual({ '': 4 });
    expect(await counted(metrics.quoteSessions)).toEqual({ '': 1 });
    expect(await counted(metrics.gateVerdicts)).toEqual({ 'closed SUSPECT_QUOTE': 1, 'closed NO_QUOTE': 1 });
  });

  test('show the clock offset as it is measured, before anybody asks', async () => {
    const { now, metrics, tickFor } = setup();
    tickFor(1_000, () => ({ sourceTimeMs: now.wallMs - 33 }));
    expect(await counted(metrics.quoteClockOffsetMs)).toEqual({ '': 33 });
  });

  const aTick = { kind: 'tick', symbol: 'EURUSD', bid: 1, ask: 1, sourceTimeMs: START_MS } as const;
});
