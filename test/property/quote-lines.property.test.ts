import fc from 'fast-check';
import { applyHeartbeat, applyOther, newFeed, type FeedState } from '../../src/domain/quote-health';
import { GapRecovery } from '../../src/quotes/gap-recovery';
import { LineArbitration, type LineOutcome } from '../../src/quotes/line-arbitration';
import type { NumberedPacket } from '../../src/quotes/moldudp64';
import { LinesOracle } from '../support/lines-oracle';

const RUNS = 2_000;
const WINDOW_MS = 20;
const MAX_SILENCE_MS = 60;
const SESSION = 'S1';

/** A message's content follows from its number, as it does on two lines that carry the same. */
const messages = (from: number, count: number): NumberedPacket => ({
  kind: 'messages',
  session: SESSION,
  sequence: BigInt(from),
  messages: Array.from({ length: count }, (_, index) => Buffer.from([(from + index) % 256])),
});
const heartbeat = (next: number): NumberedPacket => ({
  kind: 'heartbeat',
  session: SESSION,
  sequence: BigInt(next),
});

/** An arbitration whose messages are numbers and nothing more. */
const setup = (lines: number, withRecovery: boolean) => {
  const rules = { kind: 'full', heartbeatSequence: 'next' } as const;
  const feed: FeedState = newFeed();
  const seen = { delivered: [] as number[], conflicts: 0, requests: 0, givenUp: 0 };
  const recovery = withRecovery
    ? new GapRecovery(
        { timeoutMs: 30, attempts: 2 },
        { send: () => (seen.requests += 1), gaveUp: () => (seen.givenUp += 1) },
      )
    : null;
  const arbitration = new LineArbitration(
    { lines, heartbeatSequence: 'next', gapWindowMs: WINDOW_MS, maxSilenceMs: MAX_SILENCE_MS },
    feed,
    {
      deliver: (packet, { monotonicMs }) => {
        if (packet.kind === 'heartbeat') applyHeartbeat(feed, rules, packet, monotonicMs);
        if (packet.kind !== 'messages') return;
        for (let index = 0; index < packet.messages.length; index += 1) {
          const sequence = packet.sequence + BigInt(index);
          const { outcome } = applyOther(feed, { session: SESSION, sequence, understood: true }, monotonicMs);
          if (outcome === 'other') seen.delivered.push(Number(sequence));
        }
      },
      duplicate: () => undefined,
      discarded: () => undefined,
      conflict: () => (seen.conflicts += 1),
      overflowed: () => undefined,
      recovered: () => undefined,
    },
    recovery,
  );
  return {
    feed,
    seen,
    arbitration,
    take: (line: number, packet: NumberedPacket, atMs: number): LineOutcome =>
      arbitration.take(line, packet, { monotonicMs: atMs, wallMs: atMs }),
  };
};

const line = fc.constantFrom(0 as const, 1 as const);
const event = fc.record({
  line,
  type: fc.oneof(
    { weight: 6, arbitrary: fc.constant('message' as const) },
    { weight: 1, arbitrary: fc.constant('heartbeat' as const) },
  ),
  /** From where its line is: mostly the next, sometimes one that was overtaken, repeated, or far ahead. */
  step: fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.integer({ min: -3, max: 4 }) },
  ),
  pauseMs: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 4 }) },
    fc.integer({ min: 0, max: 90 }),
  ),
});

describe('the laws of two lines', () => {
  test('they do what the slow and obvious model does, at every moment', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const { feed, seen, take, arbitration } = setup(2, false);
        const oracle = new LinesOracle(WINDOW_MS, MAX_SILENCE_MS);
        const reached = [10, 10];
        let nowMs = 0;
        for (const { line: on, type, step, pauseMs } of events) {
          const number = Math.max(1, (reached[on] ?? 10) + step);
          if (type === 'message') {
            take(on, messages(number, 1), nowMs);
            oracle.message(on, number, nowMs);
            reached[on] = Math.max(reached[on] ?? 0, number + 1);
          } else {
            take(on, heartbeat(number), nowMs);
            oracle.heartbeat(on, number, nowMs);
          }
          for (let passed = 0; passed <= pauseMs; passed += 1) {
            arbitration.pass(nowMs + passed);
            oracle.pass(nowMs + passed);
            expect({ delivered: seen.delivered, lost: Number(feed.lost) }).toEqual({
              delivered: oracle.delivered,
              lost: oracle.lost,
            });
          }
          nowMs += pauseMs;
          expect(feed.waitingSinceMs === null).toBe(arbitration.held === 0);
        }
        expect(seen.conflicts).toBe(0);
      }),
      { numRuns: RUNS },
    );
  });

  const packet = fc.record({
    from: fc.oneof(line, fc.constant('server' as const)),
    step: fc.integer({ min: -6, max: 8 }),
    count: fc.integer({ min: 1, max: 4 }),
    pauseMs: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 50 })),
  });

  type Packet = typeof packet extends fc.Arbitrary<infer P> ? P : never;
  const now = { count: 1, pauseMs: 0 };
  /** The repair of one hole ends while the lines still have time for the next. */
  const REPAIRED_BEFORE_THE_NEXT_HOLE: Packet[] = [
    { from: 0, step: 0, ...now },
    { from: 1, step: 2, ...now },
    { from: 0, step: 1, ...now },
    { from: 'server', step: -2, ...now, count: 3 },
    { from: 'server', step: 0, ...now },
  ];

  test.each([1, 2])(
    'with %s and a re-request server: each number is delivered once and in order, or lost; nothing waits for ever',
    (lines) => {
      fc.assert(
        fc.property(fc.array(packet, { maxLength: 60 }), (packets) => {
          const { feed, seen, take, arbitration } = setup(lines, true);
          let [nowMs, reached, furthest] = [0, 100, 0];
          for (const { from, step, count, pauseMs } of packets) {
            const sequence = from === 'server' ? Number(feed.lastSequence ?? 0n) + 1 + step : reached + step;
            const content = messages(Math.max(1, sequence), count);
            if (from === 'server') arbitration.takeReply(content, nowMs);
            else take(from % lines, content, nowMs);
            if (from !== 'server') {
              reached = Math.max(reached, sequence + count);
              furthest = Math.max(furthest, sequence + count);
            }
            nowMs += pauseMs;
            const due = arbitration.deadlineMs;
            if (due !== null && due <= nowMs) arbitration.pass(nowMs);
            expect(arbitration.deadlineMs === null).toBe(arbitration.held === 0);
            expectEachOnceOrLost(feed, seen.delivered);
          }
          waitForAll(arbitration, nowMs);
          expectEachOnceOrLost(feed, seen.delivered);
          if (seen.delivered.length > 0) expect(Number(feed.lastSequence) + 1).toBe(furthest);
        }),
        { numRuns: RUNS, examples: [[REPAIRED_BEFORE_THE_NEXT_HOLE]] },
      );
    },
  );

  /** Time passes from deadline to deadline until nothing waits any more. */
  const waitForAll = (arbitration: LineArbitration, fromMs: number): void => {
    let nowMs = fromMs;
    for (let wait = 0; wait < 10_000 && arbitration.deadlineMs !== null; wait += 1) {
      nowMs = Math.max(nowMs, arbitration.deadlineMs);
      arbitration.pass(nowMs);
    }
    expect(arbitration.held).toBe(0);
  };

  const expectEachOnceOrLost = (feed: FeedState, delivered: readonly number[]): void => {
    const [first, last] = [delivered[0], delivered.at(-1)];
    if (first === undefined || last === undefined) return;
    expect(delivered).toEqual([...new Set(delivered)].toSorted((one, other) => one - other));
    expect(delivered.length + Number(feed.lost)).toBe(last - first + 1);
  };
});
