import fc from 'fast-check';
import {
  applyEndOfSession,
  applyHeartbeat,
  applyOther,
  applyQuote,
  newFeed,
  suspectSince,
  type Effect,
  type FeedRules,
  type FeedState,
} from '../../src/domain/quote-health';
import { QuoteHealthOracle, type OracleInput } from '../support/quote-health-oracle';

const RUNS = 3_000;
/** Where each step is compared with a copy of the state before it. */
const RUNS_WITH_COPIES = 1_000;
const PRICE = { bid: 1, ask: 2 };

const rules: fc.Arbitrary<FeedRules> = fc.record({
  kind: fc.constantFrom('full' as const, 'delta' as const),
  heartbeatSequence: fc.constantFrom('next' as const, 'last' as const, 'consumes' as const),
});

/** Numbers mostly go on by one; some are lost, repeated or overtaken. Stamps mostly grow. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.constant(1) },
  { weight: 2, arbitrary: fc.integer({ min: -4, max: 5 }) },
);
const move = fc.record({
  type: fc.oneof(
    { weight: 6, arbitrary: fc.constant('tick' as const) },
    { weight: 2, arbitrary: fc.constant('snapshot' as const) },
    { weight: 4, arbitrary: fc.constant('heartbeat' as const) },
    { weight: 1, arbitrary: fc.constant('other' as const) },
    { weight: 1, arbitrary: fc.constant('end' as const) },
  ),
  changesSession: fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, fc.integer({ min: -2, max: 1 })),
  symbol: fc.constantFrom('EURUSD', 'GBPUSD', 'USDJPY'),
  step,
  stampStep: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: -1, max: 3 }) }, fc.constant(-20)),
  understood: fc.boolean(),
});

/** The inputs that a provider with these moods would send. */
const history: fc.Arbitrary<OracleInput[]> = fc.array(move, { maxLength: 40 }).map((moves) => {
  let session = 0;
  let sourceTimeMs = 1_000;
  const reached = new Map<number, number>();
  return moves.map(({ changesSession, type, symbol, understood, ...by }): OracleInput => {
    session = Math.max(0, session + changesSession);
    const sequence = Math.max(0, (reached.get(session) ?? 5) + by.step);
    reached.set(session, Math.max(sequence, reached.get(session) ?? 0));
    sourceTimeMs += by.stampStep;
    const numbered = { session: `S${session}`, sequence };
    if (type === 'tick' || type === 'snapshot') return { type, symbol, sourceTimeMs, ...numbered };
    return type === 'other' ? { type, understood, ...numbered } : { type, ...numbered };
  });
});

function apply(feed: FeedState, by: FeedRules, input: OracleInput, nowMs: number): Effect {
  const numbered = { session: input.session, sequence: BigInt(input.sequence) };
  switch (input.type) {
    case 'heartbeat':
      return applyHeartbeat(feed, by, numbered, nowMs);
    case 'end':
      return applyEndOfSession(feed, numbered, nowMs);
    case 'other':
      return applyOther(feed, { ...numbered, understood: input.understood }, nowMs);
    case 'tick':
    case 'snapshot': {
      const { type: kind, symbol, sourceTimeMs } = input;
      return applyQuote(feed, by, { ...numbered, ...PRICE, kind, symbol, sourceTimeMs }, nowMs);
    }
  }
}

const suspectsOf = (feed: FeedState): Record<string, boolean> =>
  Object.fromEntries(
    [...feed.symbols].map(([symbol, state]) => [symbol, suspectSince(feed, state) !== null]),
  );

interface Step {
  readonly input: OracleInput;
  readonly effect: Effect;
  readonly before: FeedState;
  readonly after: FeedState;
}

/** Plays a history and lets `law` look at each step. */
const holdsAtEachStep = (law: (step: Step, by: FeedRules) => void): void => {
  fc.assert(
    fc.property(rules, history, (by, inputs) => {
      const feed = newFeed();
      for (const [nowMs, input] of inputs.entries()) {
        const before = structuredClone(feed);
        law({ input, before, effect: apply(feed, by, input, nowMs), after: feed }, by);
      }
    }),
    { numRuns: RUNS_WITH_COPIES },
  );
};

describe('the laws of quote health', () => {
  test('it does what the slow and obvious model does', () => {
    fc.assert(
      fc.property(rules, history, (by, inputs) => {
        const feed = newFeed();
        const oracle = new QuoteHealthOracle(by);
        for (const [nowMs, input] of inputs.entries()) {
          const { lost } = apply(feed, by, input, nowMs);
          expect(Number(lost)).toBe(oracle.take(input, nowMs));
          expect({
            session: feed.session,
            last: feed.lastSequence === null || feed.ended ? null : Number(feed.lastSequence),
            lost: Number(feed.lost),
            livenessMs: feed.livenessMs,
            suspectSince: Object.fromEntries(
              [...feed.symbols].map(([symbol, state]) => [symbol, suspectSince(feed, state)]),
            ),
          }).toEqual({
            session: oracle.session,
            last: feed.ended ? null : oracle.last,
            lost: oracle.lost,
            livenessMs: oracle.livenessMs,
            suspectSince: oracle.suspectSince,
          });
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('what is lost is never negative, and the total is the sum of what each input showed', () => {
    holdsAtEachStep(({ before, effect, after }) => {
      expect(effect.lost >= 0n).toBe(true);
      expect(after.lost).toBe(before.lost + effect.lost);
    });
  });

  test('the same input again shows no loss again', () => {
    holdsAtEachStep(({ input, after }, by) => {
      const again = structuredClone(after);
      expect(apply(again, by, input, 1_000).lost).toBe(0n);
    });
  });

  test('liveness never moves on a heartbeat with a gap, nor on anything that is dropped', () => {
    const lifeless = new Set<Effect['outcome']>([
      'gap',
      'late',
      'repeat',
      'former_session',
      'unread',
      'ended',
    ]);
    holdsAtEachStep(({ input, before, effect, after }) => {
      const gapped = input.type !== 'tick' && input.type !== 'snapshot' && effect.lost > 0n;
      if (gapped || lifeless.has(effect.outcome)) expect(after.livenessMs).toBe(before.livenessMs);
    });
  });

  test('the numbers of a session never go back, unless a newer snapshot restarts them', () => {
    holdsAtEachStep(({ before, effect, after }) => {
      if (before.session !== after.session || before.lastSequence === null) return;
      if (effect.outcome !== 'restart') expect(after.lastSequence! >= before.lastSequence).toBe(true);
    });
  });

  test('suspicion ends only for the symbol of a full price that was taken', () => {
    holdsAtEachStep(({ input, before, effect, after }, by) => {
      const still = suspectsOf(after);
      for (const [symbol, suspect] of Object.entries(suspectsOf(before))) {
        // An ended session hides what is certain; the next session begins with doubt, so nothing comes to light.
        if (!suspect || still[symbol] === true) continue;
        expect(['taken', 'restart']).toContain(effect.outcome);
        expect(input).toMatchObject({ symbol });
        expect(by.kind === 'full' || input.type === 'snapshot').toBe(true);
      }
    });
  });

  test('whatever shows a loss leaves no price certain but its own', () => {
    holdsAtEachStep(({ input, effect, after }) => {
      if (effect.lost === 0n) return;
      const own = 'symbol' in input ? input.symbol : undefined;
      for (const [symbol, suspect] of Object.entries(suspectsOf(after))) {
        if (symbol !== own) expect(suspect).toBe(true);
      }
    });
  });

  test('a session that is over changes nothing, whatever comes of it', () => {
    holdsAtEachStep(({ effect, before, after, input }) => {
      if (effect.outcome !== 'former_session' || input.type === 'end') return;
      expect(after).toEqual(before);
    });
  });

  test('of a stream with holes, repeats and overtaking, exactly the holes are counted', () => {
    const stream = fc.array(fc.record({ isLost: fc.boolean(), comesAgainAfter: fc.nat({ max: 5 }) }), {
      minLength: 1,
      maxLength: 60,
    });
    fc.assert(
      fc.property(rules, stream, (by, messages) => {
        const feed = newFeed();
        const tick = (sequence: number): OracleInput => ({
          type: 'tick',
          session: 'S',
          symbol: 'EURUSD',
          sourceTimeMs: 1,
          sequence,
        });
        apply(feed, by, tick(0), 0);
        let lost = 0;
        const delivered = [tick(0)];
        for (const [index, { isLost, comesAgainAfter }] of messages.entries()) {
          if (isLost) lost += 1;
          else {
            delivered.push(tick(index + 1));
            apply(feed, by, tick(index + 1), index);
          }
          apply(feed, by, delivered.at(-1 - comesAgainAfter) ?? tick(0), index);
        }
        const sent = messages.length;
        apply(feed, by, heartbeatAfter(by, sent), sent);
        expect(feed.lost).toBe(BigInt(lost));
      }),
      { numRuns: RUNS },
    );
  });

  /** What a feed of this kind says when it has sent `sent` messages and nothing after. */
  const heartbeatAfter = (by: FeedRules, sent: number): OracleInput => ({
    type: 'heartbeat',
    session: 'S',
    sequence: by.heartbeatSequence === 'last' ? sent : sent + 1,
  });
});
