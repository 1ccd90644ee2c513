import type { GateCode, GateVerdict } from '../../src/contracts/quote-gate';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import { MAX_HELD_EVENTS } from '../../src/quotes/binance-depth';
import { openBinanceFeed, type BinancePace } from '../../src/quotes/binance-feed';
import type { BinanceStream } from '../../src/quotes/binance-messages';
import { MAX_SNAPSHOT_BYTES } from '../../src/quotes/binance-snapshots';
import { createGateClient } from '../../src/quotes/gate-client';
import { startGateServer } from '../../src/quotes/gate-server';
import { MAX_FRAME_BYTES } from '../../src/quotes/stream-socket';
import {
  depthFrame,
  RECORDED_SYMBOLS,
  recordedDepth,
  recordedFrames,
  recordedSnapshot,
  SlowDepth,
  tickerFrame,
} from '../support/binance';
import { BinanceServer } from '../support/binance-server';
import { counted, total } from '../support/counted';
import { testWithRecordings } from '../support/recordings';
import { waitFor } from '../support/wait-for';

const HOST = '127.0.0.1';
const SYMBOL = 'BTCUSDT';
const THRESHOLDS = { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 };
/** Quick: these tests are about what follows what, not about how long it takes. */
const PACE: BinancePace = {
  snapshotIntervalMs: 20,
  snapshotTimeoutMs: 300,
  minReconnectMs: 20,
  maxReconnectMs: 200,
  maxLinkSilenceMs: 2_000,
};
/** Generous: these tests are not about the deadline of the order path either. */
const GATE_TIMEOUT_MS = 5_000;

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** What quote-health is made of, with Binance as its source: real sockets on both sides, and the order path's client. */
const setup = async (
  symbols: readonly string[] = [SYMBOL],
  pace: Partial<BinancePace> = {},
  stream: BinanceStream = 'spot-depth',
) => {
  const server = new BinanceServer();
  const port = await server.listen();
  closers.push(() => server.close());
  return { server, port, ...(await setupFeed(port, symbols, pace, stream)) };
};

const setupFeed = async (
  port: number,
  symbols: readonly string[],
  pace: Partial<BinancePace> = {},
  stream: BinanceStream = 'spot-depth',
) => {
  const metrics = createMetrics();
  const feed = openBinanceFeed(
    {
      feed: 'binance',
      stream,
      symbols,
      thresholds: THRESHOLDS,
      maxClockDriftMs: 100,
      wsUrl: `ws://${HOST}:${port}`,
      restUrl: `http://${HOST}:${port}`,
      pace: { ...PACE, ...pace },
    },
    metrics,
    silentLogger(),
  );
  closers.push(() => feed.close());
  const gate = await startGateServer({ host: HOST, port: 0 }, feed.source, silentLogger());
  closers.push(gate.close);
  const client = createGateClient({ url: `http://${HOST}:${gate.port}`, timeoutMs: GATE_TIMEOUT_MS });
  const becomes = (expected: 'open' | GateCode, symbol = SYMBOL): Promise<GateVerdict> =>
    waitFor(`the gate of ${symbol} to be ${expected}`, async () => {
      const verdict = await client.askGate(symbol);
      return (verdict.code ?? verdict.verdict) === expected && verdict;
    });
  return { metrics, feed, askGate: client.askGate, becomes };
};

/** The same, with a venue that speaks, and an open gate. */
const setupOpen = async (pace: Partial<BinancePace> = {}) => {
  const system = await setup([SYMBOL], pace);
  system.server.ticking = [SYMBOL];
  await system.becomes('open');
  return system;
};

describe('the gate of quote-health with Binance as its source', () => {
  test('opens after the book was built, is suspect while it is built anew, and is stale in silence', async () => {
    const { server, metrics, askGate, becomes } = await setup();
    expect(await askGate(SYMBOL)).toMatchObject({ verdict: 'closed', code: 'NO_QUOTE' });
    server.ticking = [SYMBOL];
    const open = await becomes('open');
    expect(open).toMatchObject({ feed: 'binance', bid: 10, ask: 11, suspect: false, lost: '0' });
    expect(server.connections).toEqual(['/stream?streams=btcusdt@depth@100ms']);

    server.answers.push('never');
    server.tick(SYMBOL, 3);
    expect(await becomes('SUSPECT_QUOTE')).toMatchObject({ suspect: true, lost: '3' });
    const again = await becomes('open');
    expect(again).toMatchObject({ lost: '3' });
    expect(again.session).not.toBe(open.session);
    expect(await counted(metrics.quoteResyncs)).toEqual({ gap: 1 });
    expect(await counted(metrics.quoteSnapshots)).toEqual({ loaded: 2, timeout: 1 });

    server.isMute = true;
    const stale = await becomes('STALE_QUOTE');
    expect(stale.silenceMs).toBeGreaterThan(THRESHOLDS.maxSilenceMs);
  });

  test('is bridged by pongs, but not for longer than the price is young', async () => {
    const { server, becomes } = await setupOpen();
    server.ticking = [];
    const old = await becomes('STALE_AT_SOURCE');
    expect(old.silenceMs).toBeLessThanOrEqual(THRESHOLDS.maxSilenceMs);
    server.ticking = [SYMBOL];
    await becomes('open');
  });

  test('gives a silent connection up, and opens again on the next one', async () => {
    const { server, metrics, becomes } = await setupOpen({ maxLinkSilenceMs: 600 });
    server.isMute = true;
    await waitFor('another connection', () => server.connections.length >= 2);
    server.isMute = false;
    await becomes('open');
    const ended = await counted(metrics.quoteStreamConnections);
    expect(ended['silent']).toBeGreaterThanOrEqual(1);
  });

  test('is suspect when the connection breaks, and opens again on the next one with a book built anew', async () => {
    const { server, metrics, becomes } = await setupOpen({ minReconnectMs: 300, maxReconnectMs: 300 });
    server.hangUp();
    expect((await becomes('SUSPECT_QUOTE')).reason).toBe('the provider has ended its session');
    const { session } = await becomes('open');
    expect(session).toMatch(/#2\/1$/);
    expect(await counted(metrics.quoteStreamConnections)).toEqual({ opened: 2, closed: 1 });
    expect(await total(metrics.quoteSessions)).toBe(2);
  });

  test('opens as soon as a venue can be reached that could not be at first', async () => {
    const first = new BinanceServer();
    const port = await first.listen();
    await first.close();
    const { metrics, askGate, becomes } = await setupFeed(port, [SYMBOL]);
    await waitFor('three attempts in vain', async () => {
      const { failed = 0 } = await counted(metrics.quoteStreamConnections);
      return failed >= 3;
    });
    expect(await askGate(SYMBOL)).toMatchObject({ code: 'NO_QUOTE', session: null });
    const server = new BinanceServer();
    await server.listen(port);
    closers.push(() => server.close());
    server.ticking = [SYMBOL];
    await becomes('open');
  });

  test('has heard when every symbol has a price, or when it takes too long', async () => {
    const { server, feed } = await setup([SYMBOL, 'ETHUSDT']);
    server.ticking = [SYMBOL];
    await feed.heardOrSilent(100);
    expect(feed.source.symbols()).not.toContain('ETHUSDT');
    server.ticking = [SYMBOL, 'ETHUSDT'];
    const fromMs = performance.now();
    await feed.heardOrSilent(20_000);
    expect(performance.now() - fromMs).toBeLessThan(10_000);
    expect(feed.source.symbols()).toEqual([SYMBOL, 'ETHUSDT']);
  });
});

describe('the futures of Binance', () => {
  test('have their own place for snapshots, and their own chain of numbers', async () => {
    const { server, becomes } = await setup([SYMBOL], {}, 'futures-depth');
    await waitFor('the connection', () => server.openConnections === 1);
    const send = (pu: number, U: number, u: number): void => {
      server.send(depthFrame({ pu, U, u, E: Date.now() }));
    };
    send(100, 150, 200);
    await becomes('open');
    expect(server.snapshotRequests[0]).toMatchObject({ path: '/fapi/v1/depth', symbol: SYMBOL });
    send(200, 250, 300);
    await waitFor('the event', async () => (await becomes('open')).lastSequence === '300');
    server.answers.push('never');
    send(310, 350, 400);
    expect(await becomes('SUSPECT_QUOTE')).toMatchObject({ lost: '10' });
  });

  test('have a bookTicker that needs no snapshot', async () => {
    const { server, becomes } = await setup([SYMBOL], {}, 'futures-bookTicker');
    await waitFor('the connection', () => server.openConnections === 1);
    server.send(tickerFrame({ u: 7, b: '10', E: Date.now() }));
    expect(await becomes('open')).toMatchObject({ lastSequence: '7', bid: 10 });
    expect(server.connections).toEqual(['/stream?streams=btcusdt@bookTicker']);
    expect(server.snapshotRequests).toEqual([]);
  });
});

describe('a venue that misbehaves', () => {
  test('may send a snapshot that is older than the stream: another one is asked for', async () => {
    const { server, metrics, becomes } = await setup();
    server.answers.push({ body: server.snapshotOf(SYMBOL, 50) }, { body: server.snapshotOf(SYMBOL, 40) });
    server.ticking = [SYMBOL];
    await becomes('open');
    expect(await counted(metrics.quoteResyncs)).toEqual({ snapshot_too_old: 2 });
    expect(server.snapshotRequests.length).toBeGreaterThanOrEqual(3);
  });

  test('may keep the snapshot back for so long that too many events wait', async () => {
    const { server, metrics, becomes } = await setup([SYMBOL], { snapshotTimeoutMs: 1_000 });
    await waitFor('the connection', () => server.connections.length === 1);
    server.answers.push('never');
    await waitFor('the overflow', async () => {
      for (let sent = 0; sent <= MAX_HELD_EVENTS / 10; sent += 1) server.tick(SYMBOL);
      const { overflow = 0 } = await counted(metrics.quoteResyncs);
      return overflow >= 1;
    });
    server.ticking = [SYMBOL];
    await becomes('open');
  });

  test.each<[string, string | Buffer, string]>([
    ['no JSON', 'nonsense', 'unreadable'],
    ['binary', Buffer.from('{}'), 'unreadable'],
    ['huge', 'x'.repeat(MAX_FRAME_BYTES + 1), 'too_large'],
  ])('may send a frame that is %s: the connection is given up', async (_, frame, outcome) => {
    const { server, metrics, becomes } = await setupOpen();
    server.send(frame);
    await waitFor('another connection', () => server.connections.length === 2);
    expect(await counted(metrics.quoteStreamConnections)).toMatchObject({ [outcome]: 1 });
    await becomes('open');
  });

  test('may send what nobody asked for', async () => {
    const { server, metrics, askGate } = await setupOpen();
    server.send('{"result":null,"id":1}');
    server.send('{"stream":"ethusdt@depth@100ms","data":{}}');
    await waitFor('the frames', async () => (await counted(metrics.quoteStreamFrames))['other'] === 2);
    expect(await askGate(SYMBOL)).toMatchObject({ verdict: 'open' });
    expect(server.connections).toHaveLength(1);
  });

  test('may answer anything but a snapshot, and is asked again until it gives one', async () => {
    const { server, metrics, becomes } = await setup();
    server.answers.push(
      { status: 500, body: 'out of order' },
      { body: 'nonsense' },
      { body: '{"lastUpdateId":1}' },
      { body: 'x'.repeat(MAX_SNAPSHOT_BYTES + 1) },
      'never',
      { status: 302, headers: { location: `/elsewhere?symbol=${SYMBOL}` }, body: '' },
    );
    server.ticking = [SYMBOL];
    await becomes('open');
    expect(await counted(metrics.quoteSnapshots)).toEqual({
      refused: 1,
      unreadable: 2,
      too_large: 1,
      timeout: 1,
      failed: 1,
      loaded: 1,
    });
    const { snapshotRequests: requests } = server;
    const waits = requests.slice(1).map(({ atMs }, index) => atMs - requests[index]!.atMs);
    // It doubles with each failure: 40, 80 … 1,280 ms.
    for (const [index, waitMs] of waits.entries()) expect(waitMs).toBeGreaterThanOrEqual(39 * 2 ** index);
  });

  test('is asked again although no other event comes', async () => {
    const { server, metrics, becomes } = await setup();
    server.answers.push({ status: 500, body: '' });
    await waitFor('the connection', () => server.openConnections === 1);
    server.tick(SYMBOL);
    await becomes('open');
    expect(await counted(metrics.quoteTicks)).toEqual({ held: 1, taken: 1 });
  });

  test('is not asked again before it allows it', async () => {
    const { server, metrics, becomes } = await setup();
    server.answers.push({ status: 429, headers: { 'retry-after': '1' }, body: '' });
    server.ticking = [SYMBOL];
    await becomes('open');
    expect(await counted(metrics.quoteSnapshots)).toEqual({ rate_limited: 1, loaded: 1 });
    const [first, second] = server.snapshotRequests;
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(999);
  });

  test('is asked for one snapshot after another, and not faster than is allowed', async () => {
    const symbols = ['BTCUSDT', 'ETHUSDT', 'BNBUSDT', 'XRPUSDT'];
    const { server, becomes } = await setup(symbols, { snapshotIntervalMs: 300 });
    server.ticking = symbols;
    for (const symbol of symbols) await becomes('open', symbol);
    expect(server.snapshotRequests.map(({ symbol }) => symbol).toSorted()).toEqual(symbols.toSorted());
    const times = server.snapshotRequests.map(({ atMs }) => atMs);
    for (const [index, atMs] of times.slice(1).entries()) {
      // A request may be slower than the one after it, but not by so much.
      expect(atMs - times[index]!).toBeGreaterThanOrEqual(200);
    }
  });
});

describe('the recorded stream of four symbols, through a real socket', () => {
  testWithRecordings('gives the prices of a slow reading, and counts every frame', async () => {
    const { server, metrics, feed } = await setup(RECORDED_SYMBOLS);
    await waitFor('the connection', () => server.connections.length === 1);
    const truth = new Map(
      RECORDED_SYMBOLS.map((symbol) => [symbol, new SlowDepth(recordedSnapshot(symbol))] as const),
    );
    server.answerWith = (symbol) => JSON.stringify(recordedSnapshot(symbol));
    const frames = recordedFrames();
    for (const { text } of frames) server.send(text);
    const expected = [...truth].map(([symbol, slow]) => {
      const last = recordedDepth(symbol)
        .map((event) => slow.take(event))
        .at(-1);
      return [symbol, last];
    });
    await waitFor('all snapshots', async () => (await counted(metrics.quoteSnapshots))['loaded'] === 4);
    const seen = RECORDED_SYMBOLS.map((symbol) => {
      const { bid, ask } = feed.source.look(symbol);
      return [symbol, { bid, ask }];
    });
    expect(seen).toEqual(expected);
    expect(await total(metrics.quoteStreamFrames)).toBe(frames.length);
    expect(await counted(metrics.quoteStreamFrames)).toMatchObject({ depth: 177 });
    expect([await total(metrics.quoteTicksLost), await total(metrics.quoteResyncs)]).toEqual([0, 0]);
  });

  testWithRecordings('is cut off in its middle, and the rest is taken on another connection', async () => {
    const symbol = 'NKNUSDT';
    const { server, metrics, feed } = await setup([symbol]);
    const events = recordedDepth(symbol);
    const truth = new SlowDepth(recordedSnapshot(symbol));
    server.answerWith = () => JSON.stringify(truth.snapshot());
    let last: unknown;
    for (const [index, event] of events.entries()) {
      if (index === 70) server.hangUp();
      if (index === 70 || index === 0) {
        await waitFor('a connection', () => server.openConnections === 1);
      }
      last = truth.take(event);
      server.send(depthFrame({ ...event, E: Date.now() }));
    }
    await waitFor('the last event', () => feed.source.look(symbol).lastSequence === String(events.at(-1)!.u));
    const { bid, ask, verdict } = feed.source.look(symbol);
    expect({ bid, ask, verdict }).toEqual({ ...(last as object), verdict: 'open' });
    expect(await counted(metrics.quoteStreamConnections)).toEqual({ opened: 2, closed: 1 });
  });
});
