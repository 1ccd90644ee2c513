import { createSocket } from 'node:dgram';
import { readFile } from 'node:fs/promises';
import { Agent, request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { GateCode, GateVerdict } from '../../src/contracts/quote-gate';
import type { FeedRules } from '../../src/domain/quote-health';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import { createGateClient } from '../../src/quotes/gate-client';
import { startGateServer } from '../../src/quotes/gate-server';
import { encodeMoldPacket } from '../../src/quotes/moldudp64';
import { QuoteBook } from '../../src/quotes/quote-book';
import { readRecordedQuotes } from '../../src/quotes/recorded-quotes';
import { SimulatedFeed, type SimulatedFeedOptions } from '../../src/quotes/simulated-feed';
import { encodeQuoteMessage } from '../../src/quotes/tekil-quote-message';
import { listenUdp } from '../../src/quotes/udp-listener';
import { udpPayloads } from '../support/pcap';
import { recordingPath, testWithRecordings } from '../support/recordings';
import { waitFor } from '../support/wait-for';

const HOST = '127.0.0.1';
const SYMBOL = 'EURUSD';
/** Generous: these tests are about verdicts, not about the deadline. */
const TIMEOUT_MS = 5_000;

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** What quote-health is made of: a real UDP socket, a real HTTP gate and the client of the order path. */
const setup = async (rules: Partial<FeedRules> = {}) => {
  const metrics = createMetrics();
  const thresholds = { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 };
  const book = new QuoteBook(
    { feed: 'test', rules: { kind: 'full', heartbeatSequence: 'next', ...rules }, thresholds },
    metrics,
  );
  const receive = (datagram: Buffer) => {
    book.receive(datagram);
  };
  const listener = await listenUdp({ host: HOST, port: 0 }, receive, silentLogger());
  closers.push(listener.close);
  const gate = await startGateServer({ host: HOST, port: 0 }, book, silentLogger());
  closers.push(gate.close);
  const url = `http://${HOST}:${gate.port}`;
  const { askGate } = createGateClient({ url, timeoutMs: TIMEOUT_MS });
  const count = async (name: 'quoteTicks' | 'quotePackets' | 'quoteHeartbeats', outcome: string) => {
    const { values } = await metrics[name].get();
    return values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
  };
  return {
    url,
    askGate,
    count,
    feedPort: listener.port,
    lost: async () => (await metrics.quoteTicksLost.get()).values[0]?.value ?? 0,
    sessions: async () => (await metrics.quoteSessions.get()).values[0]?.value ?? 0,
    becomes: (expected: 'open' | GateCode, symbol = SYMBOL): Promise<GateVerdict> =>
      waitFor(`the gate of ${symbol} to be ${expected}`, async () => {
        const verdict = await askGate(symbol);
        return (verdict.code ?? verdict.verdict) === expected && verdict;
      }),
  };
};

/** The same, with a feed that ticks, and an open gate. */
const setupWithFeed = async (rules: Partial<FeedRules> = {}, options: Partial<SimulatedFeedOptions> = {}) => {
  const system = await setup(rules);
  const feed = new SimulatedFeed({
    host: HOST,
    port: system.feedPort,
    symbols: { [SYMBOL]: 1.08, GBPUSD: 1.27 },
    tickIntervalMs: 20,
    ...options,
  });
  closers.push(() => feed.close());
  feed.start();
  await system.becomes('open');
  return { ...system, feed };
};

describe('the gate over a real feed', () => {
  test('is open for what the feed quotes, with the feed’s own price', async () => {
    const { askGate, feed } = await setupWithFeed();
    feed.setMode('heartbeats');
    const verdict = await waitFor('the last tick to arrive', async () => {
      const { bid, ask, ...rest } = await askGate(SYMBOL);
      const mid = ((bid ?? 0) + (ask ?? 0)) / 2;
      return Math.abs(mid - (feed.lastPrice(SYMBOL) ?? 0)) < 1e-9 && rest;
    });
    expect(verdict).toMatchObject({ symbol: SYMBOL, feed: 'test', suspect: false });
  });

  test('counts what is lost exactly, and a tick heals a feed of full quotes', async () => {
    const { becomes, feed, lost } = await setupWithFeed();
    feed.skip(3);
    await waitFor('the loss to be seen', async () => (await lost()) === 3);
    feed.skip(1);
    await waitFor('the next loss to be seen', async () => (await lost()) === 4);
    expect(await becomes('open')).toMatchObject({ suspect: false });
  });

  test('is closed by a heartbeat that shows a loss which no tick has shown', async () => {
    const { becomes, feed, lost } = await setupWithFeed();
    feed.setMode('heartbeats');
    feed.skip(5);
    expect(await becomes('SUSPECT_QUOTE')).toMatchObject({ suspect: true });
    expect(await lost()).toBe(5);
  });

  test('of a delta feed stays closed after a loss until a snapshot comes', async () => {
    const { becomes, askGate, feed, count, lost } = await setupWithFeed({ kind: 'delta' });
    feed.skip(1);
    await waitFor('the loss to be seen', async () => (await lost()) === 1);
    const before = await count('quoteTicks', 'taken');
    await waitFor('more ticks', async () => (await count('quoteTicks', 'taken')) >= before + 10);
    expect(await askGate(SYMBOL)).toMatchObject({ code: 'SUSPECT_QUOTE' });
    feed.snapshot();
    await becomes('open');
  });

  test('is not moved by packets that come again', async () => {
    const { askGate, feed, count, lost } = await setupWithFeed();
    feed.repeat(5);
    await waitFor('the repeats to arrive', async () => (await count('quoteTicks', 'repeat')) === 10);
    expect(await lost()).toBe(0);
    expect(await askGate(SYMBOL)).toMatchObject({ verdict: 'open' });
  });

  // https://github.com/nautechsystems/nautilus_trader/issues/4298
  test('is closed when the feed goes silent, and opens when it speaks again', async () => {
    const { becomes, feed, lost } = await setupWithFeed();
    feed.silence();
    const { silenceMs, reason } = await becomes('STALE_QUOTE');
    expect(silenceMs).toBeGreaterThan(1_000);
    expect(reason).toBe(`stale quote: ${silenceMs} ms`);
    feed.resume();
    await becomes('open');
    expect(await lost()).toBe(0);
  });

  test('is closed when the prices stand still behind living heartbeats', async () => {
    const { becomes, feed } = await setupWithFeed();
    feed.setMode('heartbeats');
    expect((await becomes('STALE_AT_SOURCE')).silenceMs).toBeLessThanOrEqual(1_000);
  });

  test.each([3_000, -3_000])('is closed when stamps are suddenly %s ms old', async (delayMs) => {
    const { becomes, feed } = await setupWithFeed();
    feed.delaySource(delayMs);
    const { sourceAgeMs } = await becomes('STALE_AT_SOURCE');
    expect(Math.sign(sourceAgeMs ?? 0)).toBe(Math.sign(delayMs));
    feed.delaySource(0);
    await becomes('open');
  });

  test('follows a feed that begins another session: nothing is lost by it', async () => {
    const { becomes, askGate, feed, sessions, lost, count } = await setupWithFeed({ kind: 'delta' });
    const { session } = await askGate(SYMBOL);
    feed.newSession();
    await waitFor('the new session', async () => (await sessions()) === 2);
    expect((await becomes('open')).session).not.toBe(session);
    expect(await count('quoteHeartbeats', 'ended')).toBe(1);
    expect(await lost()).toBe(0);
  });

  test('follows a feed that crashed and came back as another process', async () => {
    const { becomes, feed, feedPort, sessions } = await setupWithFeed();
    await feed.close();
    await becomes('STALE_QUOTE');
    const symbols = { [SYMBOL]: 1.09 };
    const successor = new SimulatedFeed({ host: HOST, port: feedPort, symbols, tickIntervalMs: 20 });
    closers.push(() => successor.close());
    successor.start();
    await becomes('open');
    // The one that is quoted no more is not fresh because the feed is.
    expect(await becomes('STALE_AT_SOURCE', 'GBPUSD')).toMatchObject({ suspect: true });
    expect(await sessions()).toBe(2);
  });

  test('survives datagrams of every kind of nonsense', async () => {
    const { askGate, count, feedPort, becomes } = await setupWithFeed();
    const socket = createSocket('udp4');
    closers.push(async () => {
      await new Promise<void>((resolve) => {
        socket.close(resolve);
      });
    });
    for (const datagram of [
      Buffer.alloc(0),
      Buffer.from('hello'),
      Buffer.alloc(21),
      Buffer.alloc(1_400, 1),
    ]) {
      socket.send(datagram, feedPort, HOST);
    }
    await waitFor('the nonsense to arrive', async () => (await count('quotePackets', 'short')) === 2);
    await waitFor('all of it', async () => (await count('quotePackets', 'truncated_block')) === 1);
    expect(await count('quotePackets', 'heartbeat_with_body')).toBe(1);
    await becomes('open');
    expect(await askGate(SYMBOL)).toMatchObject({ verdict: 'open' });
  });
});

describe('recordings of real venues through the real socket', () => {
  /** Sends the capture and returns, for each packet, what the book said about it. */
  const replay = async (file: string) => {
    const system = await setup();
    const socket = createSocket('udp4');
    const payloads = udpPayloads(await readFile(recordingPath(file)));
    for (const payload of payloads) {
      await new Promise((resolve) => {
        socket.send(payload, system.feedPort, HOST, resolve);
      });
    }
    socket.close();
    const kinds = ['messages', 'heartbeat'] as const;
    await waitFor(`${payloads.length} packets`, async () => {
      const seen = await Promise.all(kinds.map((kind) => system.count('quotePackets', kind)));
      return seen.reduce((sum, value) => sum + value, 0) === payloads.length;
    });
    // Their messages are not Tekil's: they use numbers and are no prices.
    const unread = await Promise.all(
      ['unread_version', 'unread_length'].map((outcome) => system.count('quoteTicks', outcome)),
    );
    const verdict = await system.askGate(SYMBOL);
    return {
      messages: unread.reduce((sum, value) => sum + value, 0),
      alive: await system.count('quoteHeartbeats', 'alive'),
      lost: await system.lost(),
      session: verdict.session,
      code: verdict.code,
    };
  };

  testWithRecordings('Nasdaq: a packet of one message, then a huge gap, then one of 38', async () => {
    expect(await replay('moldudp64-nasdaq-itch50.pcap')).toEqual({
      session: '000010059B',
      messages: 1 + 38,
      lost: 19_009_117 - 14_764_496 - 1,
      alive: 0,
      code: 'NO_QUOTE',
    });
  });

  testWithRecordings('ASX: eight messages in a frame with trailing bytes', async () => {
    expect(await replay('moldudp64-asx-trades.pcap')).toMatchObject({
      session: '1567326030',
      messages: 8,
      lost: 0,
    });
  });

  testWithRecordings.each([
    ['moldudp64-asx-heartbeat.pcap', '1567326030'],
    ['moldudp64-ise-heartbeat.pcap', '000008367I'],
  ])('%s: a heartbeat is a sign of life and no price', async (file, session) => {
    expect(await replay(file)).toEqual({ session, messages: 0, lost: 0, alive: 1, code: 'NO_QUOTE' });
  });

  testWithRecordings('FXCM: a whole Sunday of EURUSD arrives, and no tick is lost', async () => {
    const quotes = await readRecordedQuotes(recordingPath('eurusd-fxcm-20140504.zip'));
    expect(quotes).toHaveLength(8_025);
    const recording = { symbol: SYMBOL, quotes, speed: 20_000 };
    const { count, lost } = await setupWithFeed({}, { symbols: {}, recording });
    // One more than its rows: the session began with a snapshot.
    await waitFor('the day to pass', async () => (await count('quoteTicks', 'taken')) > quotes.length);
    expect(await lost()).toBe(0);
  });
});

describe('the gate’s HTTP', () => {
  test('shows the symbols that are quoted, with their states', async () => {
    const { url, askGate, becomes } = await setupWithFeed();
    await becomes('open', 'GBPUSD');
    const response = await fetch(`${url}/v1/symbols`);
    const { session } = await askGate(SYMBOL);
    expect(await response.json()).toMatchObject({
      feeds: [{ feed: 'test', session, lost: '0', lines: [{ line: 'A', alive: true }] }],
      symbols: [
        { symbol: SYMBOL, verdict: 'open' },
        { symbol: 'GBPUSD', verdict: 'open' },
      ],
    });
  });

  test('answers for a symbol with a slash, and for one that nobody quotes', async () => {
    const { askGate, feedPort, becomes } = await setup();
    const quote = { kind: 'tick', symbol: 'EUR/USD', bid: 1, ask: 1, sourceTimeMs: Date.now() } as const;
    const socket = createSocket('udp4');
    socket.send(encodeMoldPacket('S', 1n, [encodeQuoteMessage(quote)]), feedPort, HOST, () => socket.close());
    await becomes('open', 'EUR/USD');
    expect(await askGate('nobody’s')).toMatchObject({ verdict: 'closed', code: 'NO_QUOTE' });
  });

  test.each([
    ['GET', '/v1/gate/%E0%A4%A', 400, 'INVALID_PATH'],
    ['GET', '/v1/gate/', 400, 'INVALID_PATH'],
    ['GET', '/v1/gate/EUR/USD', 400, 'INVALID_PATH'],
    ['GET', '/v1/gates', 404, 'NOT_FOUND'],
    ['POST', '/v1/gate/EURUSD', 405, 'METHOD_NOT_ALLOWED'],
  ])('%s %s is a problem, %s %s', async (method, path, status, code) => {
    const { url } = await setup();
    const response = await raw(`${url}${path}`, method);
    expect(response.statusCode).toBe(status);
    expect(response.headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(await bodyOf(response))).toMatchObject({ status, code });
  });

  test('lets nothing on the way keep a verdict', async () => {
    const { url } = await setup();
    expect((await fetch(`${url}/v1/gate/EURUSD`)).headers.get('cache-control')).toBe('no-store');
  });

  test('keeps the connection of a caller', async () => {
    const { url } = await setup();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<Socket>();
    for (let time = 0; time < 5; time += 1) {
      const response = await raw(`${url}/v1/gate/EURUSD`, 'GET', agent);
      sockets.add(response.socket);
      await bodyOf(response);
    }
    agent.destroy();
    expect(sockets.size).toBe(1);
  });

  /** Sends a path as it is: `fetch` would rewrite it. */
  const raw = (url: string, method: string, agent?: Agent): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      request(url, { method, ...(agent === undefined ? {} : { agent }) }, resolve)
        .on('error', reject)
        .end();
    });
  const bodyOf = async (response: IncomingMessage): Promise<string> =>
    Buffer.concat((await response.toArray()) as Buffer[]).toString();
});
