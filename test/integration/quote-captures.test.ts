import { execFileSync, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { applyOther, newFeed, type FeedRules } from '../../src/domain/quote-health';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import { LineArbitration, type LineOutcome } from '../../src/quotes/line-arbitration';
import { encodeMoldPacket, type NumberedPacket } from '../../src/quotes/moldudp64';
import { openFeed } from '../../src/quotes/open-feed';
import { QuoteBook } from '../../src/quotes/quote-book';
import { readRecordedQuotes } from '../../src/quotes/recorded-quotes';
import { encodeQuoteMessage } from '../../src/quotes/tekil-quote-message';
import { counted, total } from '../support/counted';
import { disturbedLines } from '../support/disturbed-lines';
import { fakeClock } from '../support/fake-clock';
import { readMoldCapture } from '../support/independent-reading';
import { udpPayloads, type UdpDatagram } from '../support/pcap';
import { pcapngDatagrams } from '../support/pcapng';
import { recordingPath, testWithRecordings } from '../support/recordings';
import { waitFor } from '../support/wait-for';

const HOST = '127.0.0.1';
/** So many datagrams may be on their way at once: the kernel's default receive buffer holds them. */
const IN_FLIGHT = 100;
const hasTshark = spawnSync('tshark', ['--version']).status === 0;

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A feed of real sockets, and a sender that never sends faster than it is heard. */
const setup = async (lines: readonly string[] = ['A'], rules: Partial<FeedRules> = {}) => {
  const metrics = createMetrics();
  const feed = await openFeed(
    {
      feed: 'test',
      rules: { kind: 'full', heartbeatSequence: 'next', ...rules },
      thresholds: { maxSilenceMs: 60_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 },
      // A slow machine must not turn waiting into a loss.
      gapWindowMs: 30_000,
      lines: lines.map((line) => ({ line, host: HOST, port: 0 })),
    },
    metrics,
    silentLogger(),
  );
  closers.push(feed.close);
  const socket = createSocket('udp4');
  closers.push(async () => {
    await new Promise<void>((resolve) => {
      socket.close(resolve);
    });
  });
  let sent = 0;
  const heard = () => waitFor(`${sent} datagrams`, async () => (await total(metrics.quotePackets)) === sent);
  return {
    book: feed.source,
    metrics,
    heard,
    lost: () => Number(feed.source.feeds()[0]?.lost),
    send: async (datagram: Buffer, line = 0) => {
      await new Promise((resolve) => {
        socket.send(datagram, feed.ports[line], HOST, resolve);
      });
      sent += 1;
      if (sent % IN_FLIGHT === 0) await heard();
    },
  };
};

describe('captures of MoldUDP64 through the real socket', () => {
  const FILES = [
    'moldudp64-nasdaq-itch50.pcap',
    'moldudp64-asx-trades.pcap',
    'moldudp64-asx-heartbeat.pcap',
    'moldudp64-ise-heartbeat.pcap',
  ];

  testWithRecordings.each(FILES)('%s: every count is that of an independent reading', async (file) => {
    const { send, heard, lost, book, metrics } = await setup();
    const capture = await readFile(recordingPath(file));
    for (const payload of udpPayloads(capture)) await send(payload);
    await heard();
    expect({
      session: book.feeds()[0]?.session,
      messages: await total(metrics.quoteTicks),
      heartbeats: (await counted(metrics.quoteHeartbeats))['alive'] ?? 0,
      missing: lost(),
    }).toEqual(readMoldCapture(capture));
  });

  /** Where Wireshark is installed, it has a third word. */
  (hasTshark ? testWithRecordings : test.skip).each(FILES)('%s: and that of tshark', (file) => {
    const fields = ['session', 'sequence', 'count'].flatMap((field) => ['-e', `moldudp64.${field}`]);
    const decodeAs = ['-d', 'udp.port==1-65535,moldudp64'];
    const arguments_ = ['-r', recordingPath(file), ...decodeAs, '-T', 'fields', ...fields];
    const output = execFileSync('tshark', arguments_, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const rows = output
      .trim()
      .split('\n')
      .map((row) => row.split('\t'));
    const payloads = udpPayloads(readFileSync(recordingPath(file)));
    expect(rows).toHaveLength(payloads.length);
    for (const [index, payload] of payloads.entries()) {
      const [session, sequence, count] = rows[index] ?? [];
      expect([session?.trim(), BigInt(sequence ?? 0), Number(count)]).toEqual([
        payload.toString('latin1', 0, 10).trimEnd(),
        payload.readBigUInt64BE(10),
        payload.readUInt16BE(18),
      ]);
    }
  });
});

describe('two lines of CME market data', () => {
  const FIRST_LINE_PORT = 14_340;

  /** MDP 3 packets begin with a little-endian number of four bytes, and each packet has one. */
  const packetOf = ({ payload }: UdpDatagram): NumberedPacket => ({
    kind: 'messages',
    session: 'CME',
    sequence: BigInt(payload.readUInt32LE(0)),
    messages: [payload.subarray(4)],
  });
  const datagrams = () => pcapngDatagrams(readFileSync(recordingPath('cme-mdp3-ab-lines.pcapng')));

  /** Arbitration of two lines whose messages are numbers and nothing more. */
  const arbitration = () => {
    const feed = newFeed();
    const seen = { delivered: [] as bigint[], duplicates: 0, conflicts: 0 };
    const arbiter = new LineArbitration(
      { lines: 2, heartbeatSequence: 'consumes', gapWindowMs: 1_000, maxSilenceMs: 1_000 },
      feed,
      {
        deliver: ({ session, sequence }, { monotonicMs }) => {
          const { outcome } = applyOther(feed, { session, sequence, understood: true }, monotonicMs);
          if (outcome === 'other') seen.delivered.push(sequence);
        },
        duplicate: () => (seen.duplicates += 1),
        discarded: () => undefined,
        conflict: () => (seen.conflicts += 1),
        overflowed: () => undefined,
        recovered: () => undefined,
      },
      null,
    );
    const take = (line: number, packet: NumberedPacket, atMs: number): LineOutcome =>
      arbiter.take(line, packet, { monotonicMs: atMs, wallMs: atMs });
    return { feed, seen, take, arbiter };
  };

  testWithRecordings('are one stream without a loss, of which the faster line brings most', () => {
    const { feed, seen, take, arbiter } = arbitration();
    const first = [0, 0];
    const seenBefore = new Set<number>();
    const expected = [0, 0];
    for (const [atMs, datagram] of datagrams().entries()) {
      const line = datagram.destinationPort === FIRST_LINE_PORT ? 0 : 1;
      if (take(line, packetOf(datagram), atMs / 1_000) === 'first') first[line]! += 1;
      // The independent reading: who was there first?
      const number = new DataView(datagram.payload.buffer, datagram.payload.byteOffset).getUint32(0, true);
      if (!seenBefore.has(number)) expected[line]! += 1;
      seenBefore.add(number);
    }
    expect(first).toEqual(expected);
    expect(first[1]).toBeGreaterThan(4_000);
    expect(seen.delivered).toEqual(Array.from({ length: 5_000 }, (_, index) => BigInt(5_615 + index)));
    expect(seen).toMatchObject({ duplicates: 5_000, conflicts: 0 });
    expect({ lost: feed.lost, held: arbiter.held }).toEqual({ lost: 0n, held: 0 });
  });

  testWithRecordings.each([1, 2, 3, 4, 5])(
    'lose, repeat and overtake (seed %s): lost is exactly what both have lost, and the order is right',
    (seed) => {
      const packets = datagrams()
        .filter(({ destinationPort }) => destinationPort === FIRST_LINE_PORT)
        .map(packetOf);
      const { deliveries, lostOnBoth } = disturbedLines(packets.length, seed);
      const { feed, seen, take, arbiter } = arbitration();
      for (const [atMs, { line, index }] of deliveries.entries()) take(line, packets[index]!, atMs / 1_000);
      expect(lostOnBoth).toBeGreaterThan(0);
      expect(feed.lost).toBe(BigInt(lostOnBoth));
      expect(arbiter.held).toBe(0);
      expect(seen.delivered).toEqual(seen.delivered.toSorted((one, other) => Number(one - other)));
      expect(seen.delivered).toHaveLength(packets.length - lostOnBoth);
      expect(seen.delivered.length + seen.duplicates).toBe(deliveries.length);
    },
  );
});

describe('a recorded day of EURUSD through real sockets', () => {
  const day = async () => {
    const quotes = await readRecordedQuotes(recordingPath('eurusd-fxcm-20140504.zip'));
    return quotes.map(({ bid, ask }, index) =>
      encodeMoldPacket('DAY', BigInt(index + 1), [
        encodeQuoteMessage({ kind: 'tick', symbol: 'EURUSD', bid, ask, sourceTimeMs: Date.now() }),
      ]),
    );
  };

  testWithRecordings('on one line that loses and repeats: lost is exactly what was lost', async () => {
    const { send, heard, lost, metrics } = await setup();
    const packets = await day();
    const { deliveries, lostOnFirst } = disturbedLines(packets.length, 7);
    // One line alone cannot tell what was overtaken from what was lost: here nothing is overtaken.
    const inOrder = deliveries
      .filter(({ line }) => line === 0)
      .toSorted((one, other) => one.index - other.index);
    for (const { index } of inOrder) await send(packets[index]!);
    await heard();
    expect(lostOnFirst).toBeGreaterThan(300);
    expect(lost()).toBe(lostOnFirst);
    const { taken, repeat } = await counted(metrics.quoteTicks);
    expect(taken).toBe(packets.length - lostOnFirst);
    expect(repeat).toBe(inOrder.length - packets.length + lostOnFirst);
  });

  testWithRecordings('on two lines: lost is exactly what both have lost', async () => {
    const { send, heard, lost, metrics, book } = await setup(['A', 'B']);
    const packets = await day();
    const { deliveries, lostOnBoth } = disturbedLines(packets.length, 8);
    // A line that has never spoken is not waited for.
    for (const line of [0, 1]) await send(encodeMoldPacket('DAY', 1n, []), line);
    await heard();
    for (const { line, index } of deliveries) await send(packets[index]!, line);
    await heard();
    expect(lostOnBoth).toBeGreaterThan(5);
    expect(lost()).toBe(lostOnBoth);
    expect(book.held).toBe(0);
    expect((await counted(metrics.quoteTicks))['taken']).toBe(packets.length - lostOnBoth);
    expect(await total(metrics.quoteTicks)).toBe(deliveries.length);
    expect(await total(metrics.quoteContentConflicts)).toBe(0);
  });
});

/**
 * A real Sunday evening of EURUSD has a pause of 325 seconds between two ticks. The provider is alive: heartbeats flow.
 * Silence never closes the gate then, for the feed is not silent. The age of the symbol's own quote does, two seconds
 * after it was made, and keeps it closed until the next tick: a living connection never makes a price fresh.
 */
describe('the longest real pause of EURUSD, on a clock in the test’s hand', () => {
  const HEARTBEAT_MS = 500;

  testWithRecordings(
    'is no silence, and is closed by the age of its own quote and by nothing else',
    async () => {
      const quotes = await readRecordedQuotes(recordingPath('eurusd-fxcm-20140504.zip'));
      const pauses = quotes.slice(1).map(({ atMs }, index) => atMs - quotes[index]!.atMs);
      const longest = Math.max(...pauses);
      expect(Math.floor(longest / 1_000)).toBe(325);
      const before = pauses.indexOf(longest);

      const midnightMs = Date.parse('2014-05-04T00:00:00Z');
      const clock = fakeClock(midnightMs + quotes[before - 50]!.atMs);
      const book = new QuoteBook(
        {
          feed: 'fxcm',
          rules: { kind: 'full', heartbeatSequence: 'next' },
          thresholds: { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 },
          now: clock.now,
        },
        createMetrics(),
      );
      const tick = (index: number): void => {
        const { atMs, bid, ask } = quotes[index]!;
        const sourceTimeMs = midnightMs + atMs;
        const quote = { kind: 'tick', symbol: 'EURUSD', bid, ask, sourceTimeMs } as const;
        book.receive(encodeMoldPacket('FXCM', BigInt(index), [encodeQuoteMessage(quote)]));
      };
      const codes = new Map<string, number>();
      for (let index = before - 50; index <= before; index += 1) {
        clock.pass(midnightMs + quotes[index]!.atMs - clock.wallMs);
        tick(index);
      }
      for (let passedMs = 0; passedMs + HEARTBEAT_MS < longest; passedMs += HEARTBEAT_MS) {
        clock.pass(HEARTBEAT_MS);
        book.receive(encodeMoldPacket('FXCM', BigInt(before + 1), []));
        const { code = 'open', silenceMs, suspect } = book.look('EURUSD');
        expect({ silenceMs, suspect }).toEqual({ silenceMs: 0, suspect: false });
        codes.set(code, (codes.get(code) ?? 0) + HEARTBEAT_MS);
      }
      expect([...codes.keys()]).toEqual(['open', 'STALE_AT_SOURCE']);
      expect(codes.get('open')).toBe(2_000);
      expect(book.look('EURUSD').sourceAgeMs).toBeGreaterThan(longest - 2 * HEARTBEAT_MS);
      clock.pass(midnightMs + quotes[before + 1]!.atMs - clock.wallMs);
      tick(before + 1);
      expect(book.look('EURUSD')).toMatchObject({ verdict: 'open', lost: '0' });
    },
  );
});
