import {
  applyEndOfSession,
  applyHeartbeat,
  applyOther,
  applyQuote,
  FORMER_SESSIONS,
  MAX_SYMBOLS,
  newFeed,
  suspectSince,
  type Effect,
  type FeedRules,
  type QuoteInput,
} from '../../src/domain/quote-health';

/** A feed with its rules, fed one input a millisecond: the clock is the number of the input. */
const aFeed = (change: Partial<FeedRules> = {}) => {
  const rules: FeedRules = { kind: 'full', heartbeatSequence: 'next', ...change };
  const feed = newFeed();
  let nowMs = 0;
  const quote = (sequence: bigint, input: Partial<QuoteInput> = {}): Effect => {
    nowMs += 1;
    const defaults = { session: 'A', kind: 'tick', symbol: 'EURUSD', bid: 1.1, ask: 1.2 } as const;
    return applyQuote(feed, rules, { ...defaults, sourceTimeMs: 1_000 + nowMs, sequence, ...input }, nowMs);
  };
  return {
    feed,
    tick: quote,
    snapshot: (sequence: bigint, input: Partial<QuoteInput> = {}) =>
      quote(sequence, { kind: 'snapshot', ...input }),
    heartbeat: (sequence: bigint, session = 'A') =>
      applyHeartbeat(feed, rules, { session, sequence }, (nowMs += 1)),
    other: (sequence: bigint, understood: boolean) =>
      applyOther(feed, { session: 'A', sequence, understood }, (nowMs += 1)),
    end: (sequence: bigint, session = 'A') => applyEndOfSession(feed, { session, sequence }, (nowMs += 1)),
    now: () => nowMs,
    suspect: (symbol = 'EURUSD') => suspectSince(feed, feed.symbols.get(symbol)!) !== null,
    bid: (symbol = 'EURUSD') => feed.symbols.get(symbol)!.bid,
  };
};

describe('a tick', () => {
  test('in order is taken and is a sign of life', () => {
    const { tick, feed, now, suspect } = aFeed();
    tick(1n);
    expect(tick(2n)).toEqual({ outcome: 'taken', lost: 0n });
    expect(feed).toMatchObject({ lastSequence: 2n, livenessMs: now(), lost: 0n });
    expect(suspect()).toBe(false);
  });

  test('is believed whatever number it has when nothing came before it', () => {
    const { tick, feed } = aFeed();
    expect(tick(3_781_390n)).toEqual({ outcome: 'taken', lost: 0n });
    expect(feed.lost).toBe(0n);
  });

  test.each([10n, 9n])('with the number %s after 10 is dropped and changes nothing', (sequence) => {
    const { tick, feed, bid } = aFeed();
    tick(10n);
    const livenessMs = feed.livenessMs;
    expect(tick(sequence, { bid: 9 })).toEqual({ outcome: 'repeat', lost: 0n });
    expect(feed).toMatchObject({ lastSequence: 10n, livenessMs, lost: 0n });
    expect(bid()).toBe(1.1);
  });

  // https://github.com/bmoscon/cryptofeed/issues/20
  test('after a hole counts what is missing, once; the missing one that comes late is dropped', () => {
    const { tick, feed, suspect } = aFeed({ kind: 'delta' });
    tick(10n, { kind: 'snapshot' });
    expect(tick(13n)).toEqual({ outcome: 'taken', lost: 2n });
    expect(suspect()).toBe(true);
    expect(tick(11n)).toEqual({ outcome: 'repeat', lost: 0n });
    expect(feed.lost).toBe(2n);
  });

  test('that covers several numbers misses none of them', () => {
    const { tick, feed } = aFeed();
    tick(10n);
    expect(tick(13n, { firstSequence: 11n })).toEqual({ outcome: 'taken', lost: 0n });
    expect(tick(20n, { firstSequence: 16n })).toEqual({ outcome: 'taken', lost: 2n });
    expect(tick(21n, { firstSequence: 18n })).toEqual({ outcome: 'taken', lost: 0n });
    expect(tick(21n, { firstSequence: 15n })).toEqual({ outcome: 'repeat', lost: 0n });
    expect(feed).toMatchObject({ lastSequence: 21n, lost: 2n });
  });

  test('keeps numbers beyond 2^53 apart', () => {
    const { tick } = aFeed();
    tick(2n ** 53n);
    expect(tick(2n ** 53n + 1n)).toEqual({ outcome: 'taken', lost: 0n });
    expect(tick(2n ** 64n - 1n).lost).toBe(2n ** 64n - 2n ** 53n - 3n);
  });
});

describe('a gap', () => {
  test('makes every symbol suspect, for the lost message may have been about any', () => {
    const { tick, suspect } = aFeed();
    tick(1n, { symbol: 'EURUSD' });
    tick(2n, { symbol: 'GBPUSD' });
    tick(4n, { symbol: 'EURUSD' });
    expect(suspect('EURUSD')).toBe(false);
    expect(suspect('GBPUSD')).toBe(true);
  });

  test('in a feed of full quotes is healed by the next tick of the symbol', () => {
    const { tick, suspect } = aFeed({ kind: 'full' });
    tick(1n, { symbol: 'GBPUSD' });
    tick(3n, { symbol: 'EURUSD' });
    tick(4n, { symbol: 'GBPUSD' });
    expect(suspect('GBPUSD')).toBe(false);
  });

  test('in a delta feed is healed by a snapshot and by no tick', () => {
    const { tick, snapshot, suspect } = aFeed({ kind: 'delta' });
    snapshot(1n);
    tick(3n);
    tick(4n);
    expect(suspect()).toBe(true);
    snapshot(5n);
    expect(suspect()).toBe(false);
    tick(6n);
    expect(suspect()).toBe(false);
  });
});

describe('a heartbeat', () => {
  test('without a gap is a sign of life and heals nothing', () => {
    const { tick, heartbeat, feed, now, suspect } = aFeed({ kind: 'delta' });
    tick(10n);
    expect(heartbeat(11n)).toEqual({ outcome: 'alive', lost: 0n });
    expect(feed).toMatchObject({ lastSequence: 10n, livenessMs: now() });
    expect(suspect()).toBe(true);
  });

  test('with a gap counts it once, refreshes no liveness and makes suspect', () => {
    const { tick, heartbeat, feed, suspect } = aFeed();
    tick(100n);
    const livenessMs = feed.livenessMs;
    expect(heartbeat(105n)).toEqual({ outcome: 'gap', lost: 4n });
    expect(feed).toMatchObject({ lastSequence: 104n, livenessMs, lost: 4n });
    expect(suspect()).toBe(true);
    expect(heartbeat(105n).lost).toBe(0n);
    expect(tick(105n)).toEqual({ outcome: 'taken', lost: 0n });
    expect(feed.lost).toBe(4n);
  });

  test('that was overtaken neither rewinds the numbers nor is a sign of life', () => {
    const { tick, heartbeat, feed } = aFeed();
    tick(10n);
    const livenessMs = feed.livenessMs;
    expect(heartbeat(10n)).toEqual({ outcome: 'late', lost: 0n });
    expect(heartbeat(1n)).toEqual({ outcome: 'late', lost: 0n });
    expect(feed).toMatchObject({ lastSequence: 10n, livenessMs });
  });

  test('before any tick is where the numbers begin', () => {
    const { tick, heartbeat } = aFeed();
    expect(heartbeat(1n)).toEqual({ outcome: 'alive', lost: 0n });
    expect(tick(1n)).toEqual({ outcome: 'taken', lost: 0n });
    expect(heartbeat(4n)).toEqual({ outcome: 'gap', lost: 2n });
  });

  // After tick 10: the number that shows nothing missing, the one below it, the one above it.
  test.each([
    { heartbeatSequence: 'next', late: 10n, alive: 11n, gap: 12n, following: 12n },
    { heartbeatSequence: 'last', late: 9n, alive: 10n, gap: 11n, following: 12n },
    { heartbeatSequence: 'consumes', late: 10n, alive: 11n, gap: 12n, following: 13n },
  ] as const)('whose number means "$heartbeatSequence" is not off by one', (row) => {
    const after = (sequence: bigint) => {
      const { tick, heartbeat } = aFeed({ heartbeatSequence: row.heartbeatSequence });
      tick(10n);
      return { effect: heartbeat(sequence), tick };
    };
    expect(after(row.late).effect).toEqual({ outcome: 'late', lost: 0n });
    expect(after(row.alive).effect).toEqual({ outcome: 'alive', lost: 0n });
    const { effect, tick } = after(row.gap);
    expect(effect).toEqual({ outcome: 'gap', lost: 1n });
    expect(tick(row.following)).toEqual({ outcome: 'taken', lost: 0n });
  });
});

describe('a snapshot', () => {
  test('ends the suspicion of its own symbol only', () => {
    const { snapshot, suspect } = aFeed({ kind: 'delta' });
    snapshot(1n, { symbol: 'EURUSD' });
    snapshot(2n, { symbol: 'GBPUSD' });
    snapshot(4n, { symbol: 'EURUSD' });
    expect(suspect('EURUSD')).toBe(false);
    expect(suspect('GBPUSD')).toBe(true);
  });

  // https://github.com/nkaz001/hftbacktest/issues/300
  test('makes the ticks that it already holds stale', () => {
    const { tick, snapshot, bid, suspect } = aFeed({ kind: 'delta' });
    tick(5n);
    snapshot(8n, { bid: 2 });
    expect(tick(6n, { bid: 9 }).outcome).toBe('repeat');
    expect(tick(8n, { bid: 9 }).outcome).toBe('repeat');
    expect(bid()).toBe(2);
    expect(suspect()).toBe(false);
  });

  test('that is newer than everything restarts the numbers of its session, and all else is doubted', () => {
    const { tick, snapshot, feed, suspect } = aFeed();
    tick(900n, { symbol: 'GBPUSD' });
    tick(901n);
    expect(snapshot(1n)).toEqual({ outcome: 'restart', lost: 0n });
    expect(feed.lastSequence).toBe(1n);
    expect(suspect('EURUSD')).toBe(false);
    expect(suspect('GBPUSD')).toBe(true);
    expect(tick(2n)).toEqual({ outcome: 'taken', lost: 0n });
  });

  test('is newer than everything when its own session has nothing newer', () => {
    const { tick, snapshot } = aFeed();
    tick(7n, { sourceTimeMs: 9_000 });
    tick(7n, { session: 'B', sourceTimeMs: 100 });
    expect(snapshot(1n, { session: 'B', sourceTimeMs: 200 }).outcome).toBe('restart');
  });

  test('that was overtaken by newer prices rewinds nothing', () => {
    const { tick, snapshot, feed } = aFeed();
    tick(9n, { symbol: 'GBPUSD', sourceTimeMs: 5_000 });
    tick(11n, { sourceTimeMs: 5_001 });
    expect(snapshot(10n, { symbol: 'GBPUSD', sourceTimeMs: 5_001 })).toEqual({ outcome: 'repeat', lost: 0n });
    expect(feed.lastSequence).toBe(11n);
  });
});

describe('a message that is no quote', () => {
  test('uses its number, so that nothing is missed after it', () => {
    const { tick, other, feed, now, suspect } = aFeed();
    tick(1n);
    expect(other(2n, true)).toEqual({ outcome: 'other', lost: 0n });
    expect(feed.livenessMs).toBe(now());
    expect(suspect()).toBe(false);
    expect(tick(3n)).toEqual({ outcome: 'taken', lost: 0n });
    expect(other(3n, false)).toEqual({ outcome: 'repeat', lost: 0n });
  });

  test('and could not be understood is no sign of life, and every price is doubted', () => {
    const { tick, other, feed, suspect } = aFeed();
    tick(1n);
    const livenessMs = feed.livenessMs;
    expect(other(2n, false)).toEqual({ outcome: 'unread', lost: 0n });
    expect(feed).toMatchObject({ lastSequence: 2n, livenessMs, lost: 0n });
    expect(suspect()).toBe(true);
  });

  test('and shows a gap is no sign of life either', () => {
    const { tick, other, feed } = aFeed();
    tick(1n);
    const livenessMs = feed.livenessMs;
    expect(other(4n, true)).toEqual({ outcome: 'other', lost: 2n });
    expect(feed.livenessMs).toBe(livenessMs);
  });
});

describe('a new session', () => {
  test('voids the numbering: a low number is not a repeat and a high one is not a gap', () => {
    expect(enteredWith(1n)).toEqual({ outcome: 'taken', lost: 0n });
    expect(enteredWith(5_000n)).toEqual({ outcome: 'taken', lost: 0n });
  });

  const enteredWith = (sequence: bigint) => {
    const { tick } = aFeed();
    tick(1_000n);
    return tick(sequence, { session: 'B' });
  };

  test('in a feed of full quotes is suspect until a tick of the symbol', () => {
    const { tick, suspect } = aFeed({ kind: 'full' });
    tick(1n, { symbol: 'GBPUSD' });
    tick(1n, { session: 'B', symbol: 'EURUSD' });
    expect(suspect('EURUSD')).toBe(false);
    expect(suspect('GBPUSD')).toBe(true);
  });

  test('in a delta feed is suspect until a snapshot of it', () => {
    const { tick, snapshot, suspect } = aFeed({ kind: 'delta' });
    snapshot(1n);
    tick(1n, { session: 'B' });
    expect(suspect()).toBe(true);
    snapshot(2n, { session: 'B' });
    expect(suspect()).toBe(false);
  });

  test('that begins with a heartbeat makes every price suspect', () => {
    const { tick, heartbeat, suspect } = aFeed();
    tick(1n);
    heartbeat(1n, 'B');
    expect(suspect()).toBe(true);
  });

  test('closes the old one: what is delayed of it changes nothing', () => {
    const { tick, snapshot, heartbeat, feed } = aFeed();
    tick(1n);
    tick(1n, { session: 'B' });
    const before = structuredClone(feed);
    expect(tick(2n).outcome).toBe('former_session');
    expect(snapshot(3n).outcome).toBe('former_session');
    expect(heartbeat(4n).outcome).toBe('former_session');
    expect(feed).toEqual(before);
  });

  test('is remembered after its end, for a bounded number of sessions', () => {
    const { tick, feed } = aFeed();
    for (let session = 0; session <= 100; session += 1) tick(1n, { session: `S${session}` });
    expect(feed.formerSessions).toHaveLength(FORMER_SESSIONS);
    expect(tick(2n, { session: 'S99' }).outcome).toBe('former_session');
  });
});

describe('the end of a session', () => {
  test('makes every price suspect and shows what was lost before it, once', () => {
    const { tick, end, suspect, feed } = aFeed();
    tick(10n);
    expect(end(14n)).toEqual({ outcome: 'ended', lost: 3n });
    expect(end(14n)).toEqual({ outcome: 'ended', lost: 0n });
    expect(suspect()).toBe(true);
    expect(feed.lost).toBe(3n);
  });

  test('is final: its session cannot speak again, another one can', () => {
    const { tick, heartbeat, end, suspect } = aFeed();
    tick(10n);
    end(11n);
    expect(tick(11n).outcome).toBe('former_session');
    expect(heartbeat(11n).outcome).toBe('former_session');
    expect(tick(1n, { session: 'B' }).outcome).toBe('taken');
    expect(suspect()).toBe(false);
    expect(tick(12n).outcome).toBe('former_session');
  });

  test('of another session ends nothing that is alive, and that session can no longer begin', () => {
    const { tick, end, suspect } = aFeed();
    tick(10n);
    expect(end(77n, 'OLD')).toEqual({ outcome: 'former_session', lost: 0n });
    expect(suspect()).toBe(false);
    expect(tick(77n, { session: 'OLD' }).outcome).toBe('former_session');
  });
});

test('the number of symbols is bounded; those that are known go on', () => {
  const { tick, feed } = aFeed();
  for (let index = 0; index < MAX_SYMBOLS; index += 1) tick(BigInt(index), { symbol: `S${index}` });
  expect(tick(BigInt(MAX_SYMBOLS), { symbol: 'ONE-MORE' })).toEqual({ outcome: 'over_limit', lost: 0n });
  expect(tick(BigInt(MAX_SYMBOLS + 1), { symbol: 'S7' }).outcome).toBe('taken');
  expect(feed.symbols.size).toBe(MAX_SYMBOLS);
});
