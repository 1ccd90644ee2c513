import type { FeedRules } from '../../src/domain/quote-health';
import { createMetrics } from '../../src/observability/metrics';
import type { QuoteMessage } from '../../src/quotes/decoder';
import { MAX_HELD_PACKETS } from '../../src/quotes/held-packets';
import { encodeEndOfSession, encodeMoldPacket } from '../../src/quotes/moldudp64';
import type { FeedAlarm } from '../../src/quotes/alarm-log';
import { QuoteBook } from '../../src/quotes/quote-book';
import { encodeQuoteMessage } from '../../src/quotes/tekil-quote-message';
import { counted } from '../support/counted';
import { fakeClock } from '../support/fake-clock';

const [A, B] = [0, 1];
const WINDOW_MS = 20;

/** Two lines of one feed, on a clock in the test's hand. */
const setup = (rules: Partial<FeedRules> = {}) => {
  const clock = fakeClock();
  const metrics = createMetrics();
  const alarms: FeedAlarm[] = [];
  const book = new QuoteBook(
    {
      feed: 'test',
      rules: { kind: 'full', heartbeatSequence: 'next', ...rules },
      thresholds: { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 },
      lines: ['A', 'B'],
      gapWindowMs: WINDOW_MS,
      now: clock.now,
      onAlarm: (alarm) => alarms.push(alarm),
    },
    metrics,
  );
  const startMs = clock.wallMs;
  /** The same number is the same message on both lines, unless the test wants another. */
  const quote = (line: number, sequence: number, change: Partial<QuoteMessage> = {}, session = 'S1') => {
    const message = {
      kind: 'tick',
      symbol: 'EURUSD',
      bid: sequence,
      ask: sequence,
      sourceTimeMs: startMs,
    } as const;
    const bytes = encodeQuoteMessage({ ...message, ...change });
    book.receive(encodeMoldPacket(session, BigInt(sequence), [bytes]), line);
  };
  return {
    book,
    metrics,
    clock,
    alarms,
    quote,
    both: (...sequences: number[]) => {
      for (const sequence of sequences) for (const line of [A, B]) quote(line, sequence);
    },
    heartbeat: (line: number, sequence: number, session = 'S1') => {
      book.receive(encodeMoldPacket(session, BigInt(sequence), []), line);
    },
    end: (line: number, sequence: number) => {
      book.receive(encodeEndOfSession('S1', BigInt(sequence)), line);
    },
    /** As the timer of the process does it. */
    pass: (ms: number) => {
      clock.pass(ms);
      if (book.deadlineMs !== null && book.deadlineMs <= clock.monotonicMs) book.pass();
    },
    look: (symbol = 'EURUSD') => book.look(symbol),
    lost: () => book.feeds()[0]?.lost,
    lines: async () => counted(metrics.quoteLinePackets),
  };
};

describe('two lines', () => {
  test('are one stream: the first copy of a number wins, the second is counted as a duplicate', async () => {
    const { quote, lines, lost, metrics, look } = setup();
    quote(B, 1);
    quote(A, 1);
    quote(A, 2);
    quote(B, 2);
    expect(await lines()).toEqual({ 'A first': 1, 'A duplicate': 1, 'B first': 1, 'B duplicate': 1 });
    expect(await counted(metrics.quoteTicks)).toEqual({ taken: 2, duplicate: 2 });
    expect(lost()).toBe('0');
    expect(look()).toMatchObject({ verdict: 'open', bid: 2 });
  });

  test('fill each other’s holes: what one has lost, the other brings, in order and without a loss', async () => {
    const { both, quote, book, lost, metrics, look } = setup();
    both(1);
    quote(A, 3);
    quote(A, 4);
    expect(book.held).toBe(2);
    expect(look().bid).toBe(1);
    quote(B, 2);
    expect(book.held).toBe(0);
    expect(look()).toMatchObject({ verdict: 'open', suspect: false, bid: 4, lastSequence: '4' });
    expect(lost()).toBe('0');
    expect(await counted(metrics.quoteTicks)).toEqual({ taken: 4, duplicate: 1 });
  });

  test('fail closed while a number is missing, and say since when', () => {
    const { quote, pass, look } = setup();
    quote(A, 1);
    quote(B, 1);
    quote(A, 3);
    pass(7);
    expect(look()).toMatchObject({
      code: 'SUSPECT_QUOTE',
      reason: 'messages are missing and may still come',
      suspectSince: '2026-03-14T10:00:00.000Z',
      bid: 1,
      lost: '0',
    });
  });

  test('show a gap as soon as both have passed it', () => {
    const { both, quote, book, lost, look } = setup();
    both(1);
    quote(A, 4);
    expect(lost()).toBe('0');
    quote(B, 5);
    expect(lost()).toBe('2');
    expect(book.held).toBe(0);
    expect(look()).toMatchObject({ verdict: 'open', bid: 5 });
  });

  test('show a gap when the window has run out, and not before', () => {
    const { both, quote, book, pass, lost } = setup();
    both(1);
    quote(A, 4);
    expect(book.deadlineMs).toBe(1_000 + WINDOW_MS);
    pass(WINDOW_MS - 1);
    expect(lost()).toBe('0');
    pass(1);
    expect(lost()).toBe('2');
    expect(book.deadlineMs).toBeNull();
  });

  test('count a missing number that comes after its gap was declared as a repeat, and never take it back', async () => {
    const { both, quote, pass, lost, metrics } = setup();
    both(1);
    quote(A, 3);
    pass(WINDOW_MS);
    quote(B, 2);
    quote(B, 3);
    expect(lost()).toBe('1');
    expect(await counted(metrics.quoteTicks)).toEqual({ taken: 2, duplicate: 2, repeat: 1 });
  });

  test('show several gaps one after the other, each once', () => {
    const { both, quote, book, pass, lost, look } = setup();
    both(1);
    for (const sequence of [3, 5, 8]) quote(A, sequence);
    quote(B, 4);
    expect(lost()).toBe('1');
    expect(book.held).toBe(1);
    quote(B, 6);
    pass(WINDOW_MS);
    expect(lost()).toBe('2');
    expect(look()).toMatchObject({ verdict: 'open', bid: 8 });
  });

  test('let what waited keep its own time of arrival', () => {
    const { both, quote, pass, clock, look } = setup();
    both(1);
    quote(A, 3, { sourceTimeMs: clock.wallMs });
    pass(15);
    quote(B, 2);
    // Number 3 came 15 ms ago, number 2 just now: the feed has lived now, the price is as old as it is.
    expect(look()).toMatchObject({ verdict: 'open', silenceMs: 0, sourceAgeMs: 15, clockOffsetMs: 0 });
  });

  test('are waited for by a heartbeat that shows a hole; filled, it is a sign of life', async () => {
    const { both, quote, heartbeat, book, lost, metrics, look } = setup();
    both(1);
    heartbeat(A, 3);
    expect(book.held).toBe(1);
    expect(look()).toMatchObject({ suspect: true });
    quote(B, 2);
    heartbeat(B, 3);
    expect(lost()).toBe('0');
    expect(look()).toMatchObject({ verdict: 'open' });
    expect(await counted(metrics.quoteHeartbeats)).toEqual({ alive: 2 });
  });

  test('both with a heartbeat beyond the last number show the loss of the last message before a silence', async () => {
    const { both, heartbeat, lost, metrics, look } = setup();
    both(1);
    heartbeat(A, 3);
    heartbeat(B, 3);
    expect(lost()).toBe('1');
    expect(await counted(metrics.quoteHeartbeats)).toEqual({ gap: 1, duplicate: 1 });
    expect(look()).toMatchObject({ code: 'SUSPECT_QUOTE' });
  });

  test('with heartbeats that use a number take the first of two and call the other a duplicate', async () => {
    const { both, heartbeat, lost, quote, metrics } = setup({ heartbeatSequence: 'consumes' });
    both(1);
    heartbeat(A, 2);
    heartbeat(B, 2);
    quote(A, 3);
    quote(B, 3);
    expect(lost()).toBe('0');
    expect(await counted(metrics.quoteHeartbeats)).toEqual({ alive: 1, duplicate: 1 });
  });

  test('with heartbeats that repeat the last number miss nothing either', () => {
    const { both, heartbeat, lost, quote } = setup({ heartbeatSequence: 'last' });
    both(1);
    heartbeat(A, 2);
    quote(B, 2);
    expect(lost()).toBe('0');
    both(3);
    expect(lost()).toBe('0');
  });
});

describe('a line that is silent', () => {
  test('is degraded and not waited for; the feed is not stale', () => {
    const { both, quote, clock, book, lost, look } = setup();
    both(1);
    clock.pass(600);
    quote(A, 2, { sourceTimeMs: clock.wallMs });
    clock.pass(600);
    quote(A, 4, { sourceTimeMs: clock.wallMs });
    expect(lost()).toBe('1');
    expect(look()).toMatchObject({ verdict: 'open' });
    expect(book.feeds()).toEqual([
      {
        feed: 'test',
        session: 'S1',
        lost: '1',
        lines: [
          { line: 'A', silenceMs: 0, alive: true },
          { line: 'B', silenceMs: 1_200, alive: false },
        ],
      },
    ]);
  });

  test('is told of once when it dies and once when it comes back', async () => {
    const { book, quote, both, clock, alarms, metrics } = setup();
    both(1);
    book.watchLines();
    clock.pass(1_001);
    quote(A, 2);
    for (let time = 0; time < 3; time += 1) book.watchLines();
    expect(alarms).toEqual([{ kind: 'line_lost', line: 'B' }]);
    expect(await counted(metrics.quoteLineAlive)).toEqual({ A: 1, B: 0 });
    quote(B, 2);
    book.watchLines();
    expect(alarms.at(-1)).toEqual({ kind: 'line_back', line: 'B' });
  });

  test('says nothing about its life with what cannot be read', async () => {
    const { book, both, clock, lines } = setup();
    both(1);
    clock.pass(1_001);
    book.receive(Buffer.from('hello'), B);
    expect(book.feeds()[0]?.lines[B]).toMatchObject({ alive: false, silenceMs: 1_001 });
    expect(await lines()).toMatchObject({ 'B malformed': 1 });
  });
});

describe('one number with two contents', () => {
  test('is an alarm, and the first copy stands', async () => {
    const { quote, alarms, metrics, look } = setup();
    quote(A, 1);
    quote(A, 2, { bid: 1.1 });
    quote(B, 1);
    quote(B, 2, { bid: 9.9 });
    expect(alarms).toEqual([{ kind: 'content_conflict', line: 'B', session: 'S1', sequence: '2' }]);
    expect(await counted(metrics.quoteContentConflicts)).toEqual({ '': 1 });
    expect(look().bid).toBe(1.1);
  });

  test('is an alarm while it waits behind a hole, too', () => {
    const { both, quote, alarms } = setup();
    both(1);
    quote(A, 3, { bid: 1.1 });
    quote(B, 3, { bid: 9.9 });
    expect(alarms).toMatchObject([{ kind: 'content_conflict', sequence: '3' }]);
  });

  test('is found when the lines cut their packets differently, and equal messages are not', () => {
    const { book, alarms } = setup();
    const [one, two, three] = ['one', 'two', 'three'].map((text) => Buffer.from(`\x01${text}`));
    book.receive(encodeMoldPacket('S1', 1n, [one!, two!]), A);
    book.receive(encodeMoldPacket('S1', 1n, [one!]), B);
    book.receive(encodeMoldPacket('S1', 2n, [two!, three!]), B);
    expect(alarms).toEqual([]);
    book.receive(encodeMoldPacket('S1', 3n, [two!]), A);
    expect(alarms).toHaveLength(1);
  });

  test('is no alarm when a feed restarts its numbers, or when another session uses them', () => {
    const { both, quote, alarms, clock } = setup();
    both(1, 2);
    clock.pass(10);
    quote(B, 1, { kind: 'snapshot', bid: 5, sourceTimeMs: clock.wallMs });
    quote(A, 1, { kind: 'snapshot', bid: 5, sourceTimeMs: clock.wallMs });
    quote(A, 1, { bid: 6 }, 'S2');
    expect(alarms).toEqual([]);
  });
});

describe('a new session on two lines', () => {
  test('ends the wait: what waited is judged in its own session, and its hole is lost', async () => {
    const { both, quote, book, lost, look, metrics } = setup();
    both(1);
    quote(A, 3);
    quote(A, 1, {}, 'S2');
    expect(book.held).toBe(0);
    expect(lost()).toBe('1');
    expect(look()).toMatchObject({ session: 'S2', verdict: 'open', bid: 1 });
    expect(await counted(metrics.quoteSessions)).toEqual({ '': 2 });
  });

  test('is not left again for what the slower line still sends of the old one', async () => {
    const { both, quote, lines, look, lost } = setup();
    both(1);
    quote(A, 1, {}, 'S2');
    quote(B, 2);
    quote(B, 1, {}, 'S2');
    expect(look()).toMatchObject({ session: 'S2', verdict: 'open' });
    expect(await lines()).toMatchObject({ 'B former_session': 1, 'B duplicate': 2 });
    expect(lost()).toBe('0');
  });

  test('after an end that waits behind a hole: the loss is counted, and the end is kept', () => {
    const { both, end, pass, lost, look } = setup();
    both(1);
    end(A, 4);
    expect(look()).toMatchObject({ reason: 'messages are missing and may still come' });
    pass(WINDOW_MS);
    expect(lost()).toBe('2');
    expect(look()).toMatchObject({ reason: 'the provider has ended its session' });
  });
});

test('no more waits than there is room for: the gap is declared early, counted, and nothing behind it is dropped', async () => {
  const { both, quote, book, lost, metrics } = setup();
  both(1);
  for (let sequence = 3; sequence < 3 + MAX_HELD_PACKETS; sequence += 1) quote(A, sequence);
  expect(book.held).toBe(MAX_HELD_PACKETS);
  expect(lost()).toBe('0');
  quote(A, 3 + MAX_HELD_PACKETS);
  expect(book.held).toBe(0);
  expect(lost()).toBe('1');
  expect(await counted(metrics.quoteBufferOverflows)).toEqual({ '': 1 });
  expect(await counted(metrics.quoteTicks)).toEqual({ taken: MAX_HELD_PACKETS + 2, duplicate: 1 });
});

test('zero-length messages by the thousand fill the room as well', () => {
  const { both, book, lost } = setup();
  both(1);
  const empty = Array.from({ length: 30_000 }, () => Buffer.alloc(0));
  for (let packet = 0; packet < 10; packet += 1) {
    book.receive(encodeMoldPacket('S1', BigInt(3 + packet * 30_000), empty), A);
  }
  expect(book.held).toBeLessThan(6);
  expect(lost()).toBe('1');
});
