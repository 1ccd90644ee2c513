import { createMetrics } from '../../src/observability/metrics';
import type { QuoteMessage } from '../../src/quotes/decoder';
import { MAX_REPAIR_MESSAGES, MAX_REPAIR_MS, MIN_REQUEST_INTERVAL_MS } from '../../src/quotes/gap-recovery';
import { MAX_HELD_PACKETS } from '../../src/quotes/held-packets';
import { encodeEndOfSession, encodeMoldPacket } from '../../src/quotes/moldudp64';
import { QuoteBook } from '../../src/quotes/quote-book';
import { encodeQuoteMessage } from '../../src/quotes/tekil-quote-message';
import { counted } from '../support/counted';
import { fakeClock } from '../support/fake-clock';

const TIMEOUT_MS = 100;
const ATTEMPTS = 3;

/** A feed of one line with a re-request server that is the test. */
const setup = (lines: readonly string[] = ['A']) => {
  const clock = fakeClock();
  const metrics = createMetrics();
  const requests: string[] = [];
  const book = new QuoteBook(
    {
      feed: 'test',
      rules: { kind: 'delta', heartbeatSequence: 'next' },
      thresholds: { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 },
      lines,
      gapWindowMs: 20,
      now: clock.now,
      recovery: {
        timeoutMs: TIMEOUT_MS,
        attempts: ATTEMPTS,
        send: (request) => {
          const session = request.toString('latin1', 0, 10).trimEnd();
          requests.push(`${session} ${request.readBigUInt64BE(10)}+${request.readUInt16BE(18)}`);
        },
      },
    },
    metrics,
  );
  const startMs = clock.wallMs;
  const message = (sequence: number, change: Partial<QuoteMessage> = {}) =>
    encodeQuoteMessage({
      kind: sequence === 1 ? 'snapshot' : 'tick',
      symbol: 'EURUSD',
      bid: sequence,
      ask: sequence,
      sourceTimeMs: startMs,
      ...change,
    });
  const packetOf = (session: string, sequences: readonly number[], change: Partial<QuoteMessage> = {}) =>
    encodeMoldPacket(
      session,
      BigInt(sequences[0] ?? 0),
      sequences.map((sequence) => message(sequence, change)),
    );
  return {
    book,
    metrics,
    clock,
    requests,
    on: (line: number, sequence: number) => {
      book.receive(packetOf('S1', [sequence]), line);
    },
    quote: (sequence: number, change: Partial<QuoteMessage> = {}, session = 'S1') => {
      book.receive(packetOf(session, [sequence], change));
    },
    heartbeat: (sequence: number) => {
      book.receive(encodeMoldPacket('S1', BigInt(sequence), []));
    },
    reply: (sequences: readonly number[], change: Partial<QuoteMessage> = {}, session = 'S1') => {
      book.receiveReply(packetOf(session, sequences, change));
    },
    /** Millisecond by millisecond, as timers would do it. */
    pass: (ms: number) => {
      for (let passed = 0; passed < ms; passed += 1) {
        clock.pass(1);
        if (book.deadlineMs !== null && book.deadlineMs <= clock.monotonicMs) book.pass();
      }
    },
    look: () => book.look('EURUSD'),
    lost: () => book.feeds()[0]?.lost,
    givenUp: () => counted(metrics.quoteRepairsGivenUp),
  };
};

describe('a repair', () => {
  test('that has filled its hole leaves the next one to the lines for as long as they have time', () => {
    const { on, requests, reply, pass, look, lost } = setup(['A', 'B']);
    for (const number of [1, 3]) for (const line of [0, 1]) on(line, number);
    on(0, 5);
    expect(requests).toEqual(['S1 2+1']);
    reply([2]);
    pass(2 * MIN_REQUEST_INTERVAL_MS);
    expect(requests).toEqual(['S1 2+1']);
    on(1, 4);
    expect(look()).toMatchObject({ lastSequence: '5', suspect: false });
    expect(lost()).toBe('0');
  });

  test('asks for exactly what is missing, and what comes is applied in order: nothing is lost', async () => {
    const { quote, requests, reply, lost, look, book, metrics } = setup();
    quote(1);
    quote(4);
    quote(5);
    expect(requests).toEqual(['S1 2+2']);
    expect(look()).toMatchObject({ code: 'SUSPECT_QUOTE', bid: 1, lost: '0' });
    reply([2, 3]);
    expect(look()).toMatchObject({ verdict: 'open', bid: 5, lastSequence: '5', suspect: false });
    expect(lost()).toBe('0');
    expect(book.deadlineMs).toBeNull();
    expect(await counted(metrics.quoteTicks)).toEqual({ taken: 5 });
    expect(await counted(metrics.quoteRecovered)).toEqual({ '': 2 });
    expect(await counted(metrics.quoteLinePackets)).toEqual({ 'A first': 3, 'repair first': 1 });
  });

  test('asks for the rest when an answer brings a part, no faster than it may', () => {
    const { quote, requests, reply, pass, lost, look } = setup();
    quote(1);
    quote(7);
    reply([2, 3]);
    reply([4]);
    expect(requests).toEqual(['S1 2+5']);
    pass(MIN_REQUEST_INTERVAL_MS);
    expect(requests).toEqual(['S1 2+5', 'S1 5+2']);
    reply([5, 6]);
    expect(look()).toMatchObject({ verdict: 'open', bid: 7 });
    expect(lost()).toBe('0');
  });

  test('takes answers in any order and twice', async () => {
    const { quote, reply, look, lost, metrics } = setup();
    quote(1);
    quote(6);
    reply([4, 5]);
    reply([4, 5]);
    expect(look()).toMatchObject({ suspect: true, bid: 1 });
    reply([2, 3]);
    reply([2, 3]);
    expect(look()).toMatchObject({ verdict: 'open', bid: 6 });
    expect(lost()).toBe('0');
    expect(await counted(metrics.quoteRecovered)).toEqual({ '': 4 });
  });

  test('takes of an answer what was asked for and no more', async () => {
    const { quote, reply, look, metrics } = setup();
    quote(1);
    quote(3);
    reply([2, 3, 4, 5], { bid: 9 });
    expect(look()).toMatchObject({ lastSequence: '3', bid: 3 });
    expect(await counted(metrics.quoteRecovered)).toEqual({ '': 1 });
  });

  test('of the last message before a silence begins with the heartbeat that shows its loss', () => {
    const { quote, heartbeat, requests, reply, look } = setup();
    quote(1);
    heartbeat(3);
    expect(requests).toEqual(['S1 2+1']);
    reply([2]);
    expect(look()).toMatchObject({ verdict: 'open', bid: 2 });
  });

  test('goes from one hole to the next', () => {
    const { quote, requests, reply, pass, lost } = setup();
    for (const sequence of [1, 3, 5]) quote(sequence);
    expect(requests).toEqual(['S1 2+1']);
    reply([2]);
    pass(MIN_REQUEST_INTERVAL_MS);
    expect(requests).toEqual(['S1 2+1', 'S1 4+1']);
    reply([4]);
    expect(lost()).toBe('0');
  });

  test('ends when the missing message comes by itself', () => {
    const { quote, book, lost, look } = setup();
    quote(1);
    quote(3);
    quote(2);
    expect(look()).toMatchObject({ verdict: 'open', bid: 3 });
    expect(lost()).toBe('0');
    expect(book.deadlineMs).toBeNull();
  });

  test('is asked again when nobody answers, and given up: only then is it lost, and suspect until a snapshot', async () => {
    const { quote, requests, pass, lost, look, givenUp, clock } = setup();
    quote(1);
    quote(4);
    pass(TIMEOUT_MS * ATTEMPTS - 1);
    expect(requests).toEqual(['S1 2+2', 'S1 2+2', 'S1 2+2']);
    expect(lost()).toBe('0');
    pass(1);
    expect(lost()).toBe('2');
    expect(await givenUp()).toEqual({ unanswered: 1 });
    expect(look()).toMatchObject({ code: 'SUSPECT_QUOTE', bid: 4 });
    quote(5, { kind: 'snapshot', sourceTimeMs: clock.wallMs });
    expect(look()).toMatchObject({ verdict: 'open' });
  });

  test('that gets on in small steps is given up all the same when it takes too long', async () => {
    const { quote, reply, pass, lost, givenUp } = setup();
    const last = 2_000;
    quote(1);
    quote(last);
    let repaired = 1;
    while ((lost() ?? '') === '0') {
      repaired += 1;
      reply([repaired]);
      pass(10);
    }
    expect(repaired).toBeLessThanOrEqual(MAX_REPAIR_MS / 10 + 1);
    expect(await givenUp()).toEqual({ too_slow: 1 });
    expect(Number(lost())).toBe(last - 1 - repaired);
  });

  test('of more than is worth asking for is not begun', async () => {
    const { quote, requests, lost, givenUp } = setup();
    quote(1);
    quote(Number(MAX_REPAIR_MESSAGES) + 3);
    expect(requests).toEqual([]);
    expect(lost()).toBe(String(MAX_REPAIR_MESSAGES + 1n));
    expect(await givenUp()).toEqual({ too_large: 1 });
  });

  test('never sends two requests within the interval, however many holes there are', () => {
    const { quote, requests, reply, clock, book } = setup();
    quote(1);
    for (let sequence = 3; sequence < 400; sequence += 2) quote(sequence);
    const sentAt: number[] = [];
    for (let ms = 0; ms < 2_000 && book.held > 0; ms += 1) {
      const before = requests.length;
      reply([Number(book.look('EURUSD').lastSequence) + 1]);
      if (requests.length > before) sentAt.push(clock.monotonicMs);
      clock.pass(1);
      book.pass();
      if (requests.length > before) sentAt.push(clock.monotonicMs);
    }
    expect(book.held).toBe(0);
    const pauses = sentAt.slice(1).map((ms, index) => ms - sentAt[index]!);
    expect(pauses.length).toBeGreaterThan(30);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(MIN_REQUEST_INTERVAL_MS);
  });

  test('is ended by a new session, and so is the wait', async () => {
    const { quote, reply, book, lost, look, givenUp, metrics } = setup();
    quote(1);
    quote(4);
    quote(1, {}, 'S2');
    expect(lost()).toBe('2');
    expect(book.held).toBe(0);
    expect(await givenUp()).toEqual({ session: 1 });
    expect(look()).toMatchObject({ session: 'S2', verdict: 'open', bid: 1 });
    reply([2, 3]);
    expect(await counted(metrics.quoteLinePackets)).toMatchObject({ 'repair unwanted': 1 });
    expect(look()).toMatchObject({ session: 'S2', bid: 1 });
  });

  test('is ended by more packets than can wait', async () => {
    const { quote, lost, givenUp, metrics } = setup();
    quote(1);
    for (let sequence = 3; sequence <= 3 + MAX_HELD_PACKETS; sequence += 1) quote(sequence);
    expect(lost()).toBe('1');
    expect(await givenUp()).toEqual({ overflow: 1 });
    expect(await counted(metrics.quoteBufferOverflows)).toEqual({ '': 1 });
  });

  test('begins only when both lines have missed it', () => {
    const { quote, book, requests, pass } = setup(['A', 'B']);
    quote(1);
    book.receive(encodeMoldPacket('S1', 1n, []), 1);
    quote(3);
    expect(requests).toEqual([]);
    pass(20);
    expect(requests).toEqual(['S1 2+1']);
  });
});

describe('a repaired quote', () => {
  test('is judged by its own age: one that is too old opens nothing', () => {
    const { quote, reply, clock, look } = setup();
    quote(1);
    quote(3, { symbol: 'GBPUSD' });
    clock.pass(50);
    reply([2], { kind: 'snapshot', sourceTimeMs: clock.wallMs - 2_500 });
    expect(look()).toMatchObject({ code: 'STALE_AT_SOURCE', suspect: false, bid: 2 });
  });

  test('is no sign of life: it was sent before what came behind it', () => {
    const { quote, reply, clock, look } = setup();
    quote(1);
    clock.pass(10);
    quote(3);
    clock.pass(700);
    reply([2]);
    expect(look()).toMatchObject({ silenceMs: 700 });
    clock.pass(301);
    expect(look()).toMatchObject({ code: 'STALE_QUOTE' });
  });

  test('moves no clock offset by the time that its repair took', () => {
    const { quote, reply, clock, look } = setup();
    quote(1);
    clock.pass(1_000);
    quote(3, { sourceTimeMs: clock.wallMs });
    clock.pass(400);
    reply([2], { sourceTimeMs: clock.wallMs - 400 });
    expect(look()).toMatchObject({ clockOffsetMs: 0 });
  });
});

describe('an answer that nobody asked for', () => {
  const unwanted = async (send: (system: ReturnType<typeof setup>) => void) => {
    const system = setup();
    system.quote(1);
    system.quote(4);
    const before = system.look();
    send(system);
    expect(system.look()).toEqual(before);
    return counted(system.metrics.quoteLinePackets);
  };

  test('of another session begins no session', async () => {
    const lines = await unwanted(({ reply }) => {
      reply([2, 3], {}, 'S9');
    });
    expect(lines).toMatchObject({ 'repair unwanted': 1 });
  });

  test('for numbers beyond the hole, of ends and of heartbeats changes nothing', async () => {
    const lines = await unwanted(({ reply, book }) => {
      reply([5, 6]);
      book.receiveReply(encodeEndOfSession('S1', 4n));
      book.receiveReply(encodeMoldPacket('S1', 900n, []));
      book.receiveReply(Buffer.from('hello'));
    });
    expect(lines).toMatchObject({ 'repair unwanted': 3, 'repair malformed': 1 });
  });

  test('in a flood leaves nothing behind', async () => {
    const { quote, reply, book, metrics } = setup();
    quote(1);
    for (let time = 0; time < 10_000; time += 1) reply([time + 1]);
    expect(book.held).toBe(0);
    expect(await counted(metrics.quoteLinePackets)).toMatchObject({ 'repair unwanted': 10_000 });
  });
});
