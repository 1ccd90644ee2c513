import { MAX_SYMBOLS } from '../../src/domain/quote-health';
import { createMetrics } from '../../src/observability/metrics';
import { MAX_HELD_PACKETS } from '../../src/quotes/held-packets';
import { encodeEndOfSession, encodeMoldPacket, parseMoldPacket } from '../../src/quotes/moldudp64';
import { QuoteBook } from '../../src/quotes/quote-book';
import { encodeQuoteMessage } from '../../src/quotes/tekil-quote-message';
import { counted, total } from '../support/counted';
import { fakeClock } from '../support/fake-clock';
import { seeded } from '../support/seeded';

const DATAGRAMS = 1_000_000;
/** Far more than all that is bounded may take, far less than a leak of a few bytes a datagram. */
const MAX_GROWTH_BYTES = 96 * 1024 * 1024;

/** Random and mutated datagrams, the same for the same seed. A generator that is cheap: there are a million of them. */
const hostile = (seed: number) => {
  const random = seeded(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const noise = Buffer.from(Array.from({ length: 65_536 }, () => below(256)));
  const bytes = (maxLength: number): Buffer => {
    const from = below(noise.length - maxLength);
    return Buffer.from(noise.subarray(from, from + below(maxLength)));
  };
  const sender = { session: 100, next: 1n };

  const message = (): Buffer => {
    const dice = random();
    if (dice < 0.05) return Buffer.alloc(0);
    if (dice < 0.15) return bytes(70);
    const kind = dice < 0.3 ? 'snapshot' : 'tick';
    const symbol = dice < 0.75 ? `S${below(50)}` : `N${below(2 ** 31)}`;
    return encodeQuoteMessage({ kind, symbol, bid: random(), ask: random(), sourceTimeMs: below(2 ** 41) });
  };
  /** Mostly goes on; now and then lost, repeated, overtaken, or as large as can be. */
  const sequence = (): bigint => {
    const dice = random();
    if (dice < 0.002) return 2n ** 64n - 1n - BigInt(below(3));
    if (dice < 0.004) return BigInt(below(2 ** 31)) << 20n;
    if (dice < 0.1) return sender.next + BigInt(below(40));
    if (dice < 0.2) return sender.next - BigInt(below(Number(sender.next < 20n ? sender.next : 20n)));
    return sender.next;
  };
  const session = (): string => {
    const dice = random();
    if (dice < 0.02) return `S${sender.session - below(30)}`;
    if (dice > 0.99) {
      sender.session += 1;
      sender.next = 1n;
    }
    return `S${sender.session}`;
  };
  const packet = (): Buffer => {
    const of = session();
    const at = sequence();
    const dice = random();
    if (dice < 0.1) return encodeMoldPacket(of, at, []);
    if (dice < 0.101) return encodeEndOfSession(of, at);
    const messages = Array.from({ length: 1 + below(3) }, message);
    if (at - sender.next < 50n && at >= sender.next) sender.next = at + BigInt(messages.length);
    return encodeMoldPacket(of, at, messages);
  };
  /** Some of its bytes are changed, mostly behind the session and the number, and its end may be cut off. */
  const spoil = (good: Buffer): Buffer => {
    for (let change = below(4); change > 0; change -= 1) {
      const from = random() < 0.05 ? 0 : 18;
      good.writeUInt8(below(256), from + below(good.length - from));
    }
    return below(4) === 0 ? good.subarray(0, below(good.length + 1)) : good;
  };
  return {
    below,
    datagram: (): Buffer => {
      const dice = random();
      if (dice < 0.1) return bytes(64);
      return dice < 0.3 ? spoil(packet()) : packet();
    },
  };
};

const heapBytes = (): number => {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
};

const setup = (lines: readonly string[], recovers: boolean) => {
  const clock = fakeClock();
  const metrics = createMetrics();
  const recovery = { recovery: { timeoutMs: 20, attempts: 2, send: () => undefined } };
  const book = new QuoteBook(
    {
      feed: 'test',
      rules: { kind: 'delta', heartbeatSequence: 'next' },
      thresholds: { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 },
      lines,
      now: clock.now,
      ...(recovers ? recovery : {}),
    },
    metrics,
  );
  const pass = (ms: number): void => {
    clock.pass(ms);
    if (book.deadlineMs !== null && book.deadlineMs <= clock.monotonicMs) book.pass();
  };
  return { book, metrics, pass };
};

type System = ReturnType<typeof setup>;

/** Feeds a third of the flood, and says what was fed by a reading of its own. */
const flood = ({ book, pass }: System, seed: number, lines: number, recovers: boolean) => {
  const { datagram, below } = hostile(seed);
  const fed = { packets: 0, malformed: 0, beats: 0, messages: 0, replies: 0, mostHeld: 0 };
  const feed = (bytes: Buffer): void => {
    const packet = parseMoldPacket(bytes);
    fed.packets += 1;
    if (packet.kind === 'malformed') fed.malformed += 1;
    else if (packet.kind === 'messages') fed.messages += packet.messages.length;
    else fed.beats += 1;
    book.receive(bytes, below(lines));
  };
  for (let round = 0; round < DATAGRAMS / 3; round += 1) {
    if (recovers && below(10) === 0) {
      fed.replies += 1;
      book.receiveReply(datagram());
    } else feed(datagram());
    pass(below(4) === 0 ? below(3) : 0);
    fed.mostHeld = Math.max(fed.mostHeld, book.held);
  }
  // What still waits is let go by time alone.
  for (let wait = 0; wait < 100_000 && book.deadlineMs !== null; wait += 1) pass(1);
  return fed;
};

const expectAllCounted = async ({ metrics }: System, fed: ReturnType<typeof flood>): Promise<void> => {
  const { messages, heartbeat, end, ...malformed } = await counted(metrics.quotePackets);
  expect({ beats: (heartbeat ?? 0) + (end ?? 0), packets: await total(metrics.quotePackets) }).toEqual({
    beats: fed.beats,
    packets: fed.packets,
  });
  expect(Object.values(malformed).reduce((sum, count) => sum + count, 0)).toBe(fed.malformed);
  expect(Object.keys(malformed).toSorted()).toEqual([
    'heartbeat_with_body',
    'sequence_overflow',
    'short',
    'trailing_bytes',
    'truncated_block',
  ]);
  expect(messages).toBeGreaterThan(DATAGRAMS / 6);
  expect(await total(metrics.quoteLinePackets)).toBe(fed.packets + fed.replies);
  expect(await total(metrics.quoteHeartbeats)).toBe(fed.beats);
  // A part of an answer may repeat what has come meanwhile: it is counted as well, and is not among what was fed.
  const extra = (await total(metrics.quoteTicks)) - fed.messages;
  expect(extra).toBeGreaterThanOrEqual(fed.replies === 0 ? 0 : await total(metrics.quoteRecovered));
  if (fed.replies === 0) expect(extra).toBe(0);
  // The flood reaches what it is meant to reach.
  expect((await counted(metrics.quoteTicks))['taken']).toBeGreaterThan(DATAGRAMS / 30);
};

test.each([
  { seed: 1, lines: ['A'], recovers: false },
  { seed: 2, lines: ['A', 'B'], recovers: false },
  { seed: 3, lines: ['A', 'B'], recovers: true },
])(
  'a third of a million hostile datagrams (seed $seed, lines $lines, recovery $recovers): nothing is thrown, everything is counted, no memory grows',
  async ({ seed, lines, recovers }) => {
    const system = setup(lines, recovers);
    const before = heapBytes();
    const fed = flood(system, seed, lines.length, recovers);
    expect(system.book.held).toBe(0);
    expect(fed.mostHeld).toBeLessThanOrEqual(MAX_HELD_PACKETS);
    expect(system.book.symbols().length).toBeLessThanOrEqual(MAX_SYMBOLS);
    await expectAllCounted(system, fed);
    expect(heapBytes() - before).toBeLessThan(MAX_GROWTH_BYTES);
  },
);
