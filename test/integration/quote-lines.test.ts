import { createSocket, type Socket } from 'node:dgram';
import type { GateCode } from '../../src/contracts/quote-gate';
import type { FeedRules } from '../../src/domain/quote-health';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import type { QuoteMessage } from '../../src/quotes/decoder';
import { encodeMoldPacket } from '../../src/quotes/moldudp64';
import { openFeed, type OpenFeedOptions } from '../../src/quotes/open-feed';
import { encodeQuoteMessage } from '../../src/quotes/tekil-quote-message';
import { counted } from '../support/counted';
import { startRerequestServer, type Answer } from '../support/rerequest-server';
import { waitFor } from '../support/wait-for';

const HOST = '127.0.0.1';
const SYMBOL = 'EURUSD';
const TIMEOUT_MS = 50;
const ATTEMPTS = 2;

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const openSocket = (): Socket => {
  const socket = createSocket('udp4');
  closers.push(async () => {
    await new Promise<void>((resolve) => {
      socket.close(resolve);
    });
  });
  return socket;
};

/** The messages that a provider has sent, so that it can send them again. */
const provider = () => {
  const sent = new Map<bigint, Buffer>();
  let next = 1n;
  return {
    make: (change: Partial<QuoteMessage> = {}): bigint => {
      const quote = { kind: 'tick', symbol: SYMBOL, bid: Number(next), ask: Number(next) } as const;
      sent.set(next, encodeQuoteMessage({ ...quote, sourceTimeMs: Date.now(), ...change }));
      next += 1n;
      return next - 1n;
    },
    packet: (session: string, from: bigint, count = 1): Buffer =>
      encodeMoldPacket(
        session,
        from,
        Array.from({ length: count }, (_, index) => sent.get(from + BigInt(index))).filter(
          (message) => message !== undefined,
        ),
      ),
  };
};

/** A feed of real sockets whose provider answers requests as the test says, if it says so. */
const setup = async (
  options: {
    readonly answer?: (provided: ReturnType<typeof provider>) => Answer;
    readonly lines?: readonly string[];
    readonly rules?: Partial<FeedRules>;
  } = {},
) => {
  const { answer, lines = ['A'], rules = {} } = options;
  const metrics = createMetrics();
  const provided = provider();
  const server = answer && (await startRerequestServer(answer(provided)));
  if (server) closers.push(server.close);
  const recovery: Pick<OpenFeedOptions, 'recovery'> = server
    ? { recovery: { host: HOST, port: server.port, timeoutMs: TIMEOUT_MS, attempts: ATTEMPTS } }
    : {};
  const feed = await openFeed(
    {
      feed: 'test',
      rules: { kind: 'delta', heartbeatSequence: 'next', ...rules },
      thresholds: { maxSilenceMs: 5_000, maxSourceAgeMs: 10_000, maxClockOffsetMs: 500 },
      gapWindowMs: 20,
      lines: lines.map((line) => ({ line, host: HOST, port: 0 })),
      ...recovery,
    },
    metrics,
    silentLogger(),
  );
  closers.push(feed.close);
  const socket = openSocket();
  const { source: book } = feed;
  return {
    book,
    metrics,
    provided,
    feed,
    requests: () => server?.requests() ?? 0,
    /** An answer that is right in all but its sender. */
    answerFromElsewhere: (reply: Buffer) => {
      socket.send(reply, server?.askedFrom() ?? 0, HOST, () => undefined);
    },
    send: (packet: Buffer, line = 0) => {
      socket.send(packet, feed.ports[line], HOST, () => undefined);
    },
    lost: () => book.feeds()[0]?.lost,
    becomes: (expected: 'open' | GateCode) =>
      waitFor(`the gate to be ${expected}`, () => {
        const verdict = book.look(SYMBOL);
        return (verdict.code ?? verdict.verdict) === expected && verdict;
      }),
    lastIs: (sequence: bigint) =>
      waitFor(`message ${sequence}`, () => book.look(SYMBOL).lastSequence === sequence.toString()),
  };
};

/** A snapshot, then a hole of `missing` messages, then one more. */
const withHole = async (system: Awaited<ReturnType<typeof setup>>, missing: number) => {
  const { provided, send, becomes } = system;
  const first = provided.make({ kind: 'snapshot' });
  send(provided.packet('S1', first));
  await becomes('open');
  for (let index = 0; index < missing; index += 1) provided.make();
  const last = provided.make();
  send(provided.packet('S1', last));
  return last;
};

describe('a re-request server', () => {
  test('that answers in parts heals a delta feed without a snapshot, and nothing is lost', async () => {
    const system = await setup({
      answer:
        (provided) =>
        ({ session, from, count }) => [provided.packet(session, from, Math.min(count, 7))],
    });
    const last = await withHole(system, 50);
    await system.lastIs(last);
    expect(system.book.look(SYMBOL)).toMatchObject({ verdict: 'open', suspect: false, lost: '0' });
    expect(await counted(system.metrics.quoteRecovered)).toEqual({ '': 50 });
    expect(system.requests()).toBe(Math.ceil(50 / 7));
  });

  test('that is silent is asked so often and no more; then the loss is counted and the price suspect', async () => {
    const system = await setup({ answer: () => () => [] });
    const last = await withHole(system, 3);
    await system.lastIs(last);
    expect(system.lost()).toBe('3');
    expect(system.requests()).toBe(ATTEMPTS);
    expect(system.book.look(SYMBOL)).toMatchObject({ code: 'SUSPECT_QUOTE' });
    expect(await counted(system.metrics.quoteRepairsGivenUp)).toEqual({ unanswered: 1 });
  });

  test('that is not there at all is no worse than a silent one', async () => {
    const server = await startRerequestServer(() => []);
    await server.close();
    const metrics = createMetrics();
    const recovery = { host: HOST, port: server.port, timeoutMs: TIMEOUT_MS, attempts: ATTEMPTS };
    const feed = await openFeed(
      {
        feed: 'test',
        rules: { kind: 'full', heartbeatSequence: 'next' },
        thresholds: { maxSilenceMs: 5_000, maxSourceAgeMs: 10_000, maxClockOffsetMs: 500 },
        lines: [{ line: 'A', host: HOST, port: 0 }],
        recovery,
      },
      metrics,
      silentLogger(),
    );
    closers.push(feed.close);
    const provided = provider();
    const socket = openSocket();
    for (let index = 0; index < 3; index += 1) provided.make();
    for (const sequence of [1n, 3n]) socket.send(provided.packet('S1', sequence), feed.ports[0], HOST);
    await waitFor('the repair to be given up', () => feed.source.feeds()[0]?.lost === '1');
    expect(feed.source.look(SYMBOL)).toMatchObject({ verdict: 'open', bid: 3 });
  });

  test('that answers for another session, floods and talks nonsense moves nothing', async () => {
    const flood = (provided: ReturnType<typeof provider>): Answer => {
      return ({ from }) => [
        provided.packet('OTHER', from, 3),
        encodeMoldPacket('OTHER', 1n, []),
        Buffer.from('nonsense'),
        ...Array.from({ length: 500 }, () => provided.packet('S1', 1n)),
      ];
    };
    const system = await setup({ answer: flood });
    const last = await withHole(system, 3);
    await system.lastIs(last);
    expect(system.lost()).toBe('3');
    expect(system.book.feeds()[0]?.session).toBe('S1');
    expect(await counted(system.metrics.quoteSessions)).toEqual({ '': 1 });
    expect(system.book.held).toBe(0);
  });

  test('is the only one that is heard: an answer from another address is not even read', async () => {
    const system = await setup({ answer: () => () => [] });
    await withHole(system, 1);
    await waitFor('the request', () => system.requests() > 0);
    system.answerFromElsewhere(system.provided.packet('S1', 2n));
    await system.lastIs(3n);
    expect(system.lost()).toBe('1');
    const lines = Object.keys(await counted(system.metrics.quoteLinePackets));
    expect(lines.filter((line) => line.startsWith('repair'))).toEqual([]);
  });

  test('is asked no more about a session that is over', async () => {
    const system = await setup({ answer: () => () => [] });
    await withHole(system, 1);
    system.send(system.provided.packet('S2', system.provided.make({ kind: 'snapshot' })));
    const verdict = await waitFor('the new session', () => {
      const now = system.book.look(SYMBOL);
      return now.session === 'S2' && now;
    });
    expect(verdict).toMatchObject({ verdict: 'open', lost: '1' });
    expect(system.book.deadlineMs).toBeNull();
  });
});

describe('two lines on real sockets', () => {
  test('survive the death of one: degraded, not stale, and nothing is lost that the other brings', async () => {
    const { provided, send, feed, becomes, lost } = await setup({
      lines: ['A', 'B'],
      rules: { kind: 'full' },
    });
    expect(feed.ports).toHaveLength(2);
    for (const line of [0, 1]) send(provided.packet('S1', 1n), line);
    for (let index = 0; index < 20; index += 1) {
      const packet = provided.packet('S1', provided.make());
      send(packet, 0);
      if (index < 10) send(packet, 1);
    }
    await waitFor('the last one', () => feed.source.look(SYMBOL).lastSequence === '20');
    await becomes('open');
    expect(lost()).toBe('0');
    expect(feed.source.feeds()[0]?.lines.map(({ line }) => line)).toEqual(['A', 'B']);
  });

  test('declare a gap by the clock when the other line lives and says nothing more', async () => {
    const { provided, send, lost, book } = await setup({ lines: ['A', 'B'], rules: { kind: 'full' } });
    for (let index = 0; index < 4; index += 1) provided.make();
    for (const line of [0, 1]) send(provided.packet('S1', 1n), line);
    await waitFor('both lines', () => book.feeds()[0]?.lines.every(({ alive }) => alive));
    send(provided.packet('S1', 4n), 0);
    await waitFor('the window to run out', () => lost() === '2');
    expect(book.deadlineMs).toBeNull();
  });
});

test('a sender that is restarted in the middle begins another session: suspect until its first full price, nothing lost', async () => {
  const { provided, send, becomes, lost, lastIs, book } = await setup();
  send(provided.packet('FIRST', provided.make({ kind: 'snapshot' })));
  await becomes('open');
  for (let index = 0; index < 10; index += 1) send(provided.packet('FIRST', provided.make()));
  await lastIs(11n);
  const successor = provider();
  successor.make();
  send(successor.packet('SECOND', 1n));
  const { suspectSince } = await becomes('SUSPECT_QUOTE');
  expect(suspectSince).not.toBeNull();
  // What the dead sender had still on its way says nothing any more.
  send(provided.packet('FIRST', provided.make({ kind: 'snapshot' })));
  send(successor.packet('SECOND', successor.make({ kind: 'snapshot' })));
  expect(await becomes('open')).toMatchObject({ session: 'SECOND', lastSequence: '2', suspectSince: null });
  expect(lost()).toBe('0');
  expect(book.look(SYMBOL).bid).toBe(2);
});

test('an address that cannot be bound is a failure to start, and what was opened is closed', async () => {
  const taken = await setup();
  const port = taken.feed.ports[0]!;
  const lines = [
    { line: 'A', host: HOST, port: 0 },
    { line: 'B', host: HOST, port },
  ];
  const thresholds = { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 };
  const rules = { kind: 'full', heartbeatSequence: 'next' } as const;
  await expect(
    openFeed({ feed: 'test', rules, thresholds, lines }, createMetrics(), silentLogger()),
  ).rejects.toThrow('EADDRINUSE');
});

test('a feed is heard with its first datagram, and silent when the time is up', async () => {
  const { feed, send } = await setup();
  await feed.heardOrSilent(1);
  const heard = feed.heardOrSilent(60_000);
  send(Buffer.from('anything'));
  await heard;
});
