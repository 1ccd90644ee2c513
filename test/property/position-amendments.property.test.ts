import fc from 'fast-check';
import { effectiveTrade, type Amendment } from '../../src/domain/amendment';
import { EMPTY_POSITION, foldTrades } from '../../src/domain/position';
import { foldWithCheckpoints, type PlacedTrade, type PositionAt } from '../../src/domain/position-checkpoint';
import {
  aReportedTrade,
  aTrade,
  decimalOf,
  LAW_RUNS,
  shown,
  tradeOf,
  type ReportedTrade,
  type ShownPosition,
} from '../support/trades';

const START: PositionAt = { position: EMPTY_POSITION, sequence: 0n };
const INTERVAL = 4n;
const trades = fc.array(aReportedTrade, { maxLength: 30 });

/** Trades in places with gaps, as they are when some fills are busted or were booked before. */
const placedTrades = fc
  .array(fc.record({ trade: aTrade, gap: fc.integer({ min: 1, max: 6 }) }), { maxLength: 30 })
  .map((steps): PlacedTrade[] => {
    let sequence = 0n;
    return steps.map(({ trade, gap }) => ({ ...trade, sequence: (sequence += BigInt(gap)) }));
  });
const endOf = (placed: readonly PlacedTrade[]): bigint => placed.at(-1)?.sequence ?? 0n;
const upTo = (placed: readonly PlacedTrade[], place: bigint): PlacedTrade[] =>
  placed.filter(({ sequence }) => sequence <= place);
const shownAt = (at: PositionAt) => ({ ...shown(at.position), place: at.sequence.toString() });

describe('the laws of the checkpoints', () => {
  test('each is the fold of the trades up to its place, and there is one at every multiple of the interval', () => {
    fc.assert(
      fc.property(placedTrades, fc.nat(9), (placed, more) => {
        const end = endOf(placed) + BigInt(more);
        const { after, checkpoints } = foldWithCheckpoints(START, placed, end, INTERVAL);
        expect(shown(after.position)).toEqual(shown(foldTrades(placed)));
        expect(checkpoints).toHaveLength(Number(end / INTERVAL));
        checkpoints.forEach(({ position, sequence }, index) => {
          expect(sequence).toBe(BigInt(index + 1) * INTERVAL);
          expect(shown(position)).toEqual(shown(foldTrades(upTo(placed, sequence))));
        });
      }),
      { numRuns: LAW_RUNS },
    );
  });

  test('folding in two parts, cut anywhere, gives the position and the checkpoints of folding at once', () => {
    fc.assert(
      fc.property(placedTrades, fc.nat(), (placed, at) => {
        const end = endOf(placed);
        const cut = BigInt(at) % (end + 1n);
        const first = foldWithCheckpoints(START, upTo(placed, cut), cut, INTERVAL);
        const rest = placed.filter(({ sequence }) => sequence > cut);
        const second = foldWithCheckpoints(first.after, rest, end, INTERVAL);
        const whole = foldWithCheckpoints(START, placed, end, INTERVAL);
        expect(shownAt(second.after)).toEqual(shownAt(whole.after));
        expect([...first.checkpoints, ...second.checkpoints].map(shownAt)).toEqual(
          whole.checkpoints.map(shownAt),
        );
      }),
      { numRuns: LAW_RUNS },
    );
  });

  test('after a bust, folding from the last checkpoint before it gives what folding everything without it gives', () => {
    fc.assert(
      fc.property(placedTrades, fc.nat(), (placed, at) => {
        if (placed.length === 0) return;
        const end = endOf(placed);
        const busted = placed[at % placed.length]!;
        const left = placed.filter((trade) => trade !== busted);
        const before = foldWithCheckpoints(START, placed, end, INTERVAL).checkpoints;
        const start = before.findLast(({ sequence }) => sequence < busted.sequence) ?? START;
        const again = foldWithCheckpoints(
          start,
          left.filter(({ sequence }) => sequence > start.sequence),
          end,
          INTERVAL,
        );
        const whole = foldWithCheckpoints(START, left, end, INTERVAL);
        expect(shownAt(again.after)).toEqual(shownAt(whole.after));
        const kept = before.filter(({ sequence }) => sequence <= start.sequence);
        expect([...kept, ...again.checkpoints].map(shownAt)).toEqual(whole.checkpoints.map(shownAt));
      }),
      { numRuns: LAW_RUNS },
    );
  });
});

interface Fill extends ReportedTrade {
  readonly id: string;
}
type Event = Fill | Amendment;

/** Dedup, fills in the order in which they came, amendments whenever they came: the position as a pure function. */
function positionOf(events: readonly Event[]): ShownPosition {
  const seen = new Map<string, Event>();
  for (const event of events) {
    const identity = 'id' in event ? `FILL ${event.id}` : `${event.type} ${event.executionId}`;
    if (!seen.has(identity)) seen.set(identity, event);
  }
  const once = [...seen.values()];
  const amendments = once.filter((event) => 'type' in event);
  const counted = once
    .filter((event) => 'id' in event)
    .map((fill) => ({
      ...fill,
      ...effectiveTrade(
        fill,
        amendments.filter(({ refExecutionId }) => refExecutionId === fill.id),
      ),
    }));
  return shown(foldTrades(counted.filter(({ quantity }) => quantity.gt('0')).map(tradeOf)));
}

const fillsOf = (sequence: readonly ReportedTrade[]): Fill[] =>
  sequence.map((trade, index) => ({ ...trade, id: `E${index}` }));
const bustOf = ({ id }: Fill): Amendment => ({
  executionId: `B-${id}`,
  refExecutionId: id,
  type: 'BUST',
  executedAt: '2026-03-14T10:00:00Z',
});

const amendment = fc.record({
  of: fc.nat(29),
  type: fc.constantFrom('BUST' as const, 'CORRECT' as const),
  quantity: decimalOf(1n, 10n ** 6n),
  price: decimalOf(1n, 10n ** 6n),
  minute: fc.integer({ min: 10, max: 12 }),
});
const amendments = fc.array(amendment, { maxLength: 8 }).map((list) =>
  list.map(({ of, type, quantity, price, minute }, index): Amendment => {
    const content = type === 'CORRECT' ? { quantity, price } : {};
    const executedAt = `2026-03-14T10:${minute}:00Z`;
    return { executionId: `A${index}`, refExecutionId: `E${of}`, type, executedAt, ...content };
  }),
);

describe('the laws of amendments and repeats', () => {
  test('busting every fill, in any order, gives the empty position', () => {
    fc.assert(
      fc.property(trades, fc.infiniteStream(fc.nat()), (sequence, stream) => {
        const fills = fillsOf(sequence);
        const busts = fills.map(bustOf).toSorted(() => ((stream.next().value as number) % 3) - 1);
        expect(positionOf([...fills, ...busts])).toEqual(shown(EMPTY_POSITION));
        expect(positionOf([...busts, ...fills])).toEqual(shown(EMPTY_POSITION));
      }),
      { numRuns: LAW_RUNS },
    );
  });

  test('any multiset of repeats behind the first of each gives what the sequence gives', () => {
    fc.assert(
      fc.property(trades, amendments, fc.infiniteStream(fc.nat()), (sequence, amended, stream) => {
        const events: Event[] = [...fillsOf(sequence), ...amended];
        const delivered = events.flatMap((event, index) => {
          const pick = (): Event => events[(stream.next().value as number) % (index + 1)]!;
          return [event, pick(), pick()];
        });
        expect(positionOf(delivered)).toEqual(positionOf(events));
      }),
      { numRuns: LAW_RUNS },
    );
  });

  test('amendments give the same wherever among the fills, and in whatever order, they come', () => {
    fc.assert(
      fc.property(trades, amendments, fc.infiniteStream(fc.nat()), (sequence, amended, stream) => {
        const fills = fillsOf(sequence);
        const delivered: Event[] = [...fills];
        for (const one of amended) {
          delivered.splice((stream.next().value as number) % (delivered.length + 1), 0, one);
        }
        expect(positionOf(delivered)).toEqual(positionOf([...fills, ...amended]));
      }),
      { numRuns: LAW_RUNS },
    );
  });

  test('a correction to other figures gives what the fill with those figures gives', () => {
    fc.assert(
      fc.property(trades, fc.nat(), aReportedTrade, (sequence, at, other) => {
        if (sequence.length === 0) return;
        const fills = fillsOf(sequence);
        const fill = fills[at % fills.length]!;
        const { quantity, price } = other;
        const corrected = positionOf([...fills, { ...bustOf(fill), type: 'CORRECT', quantity, price }]);
        const reported = fills.map((each) => (each === fill ? { ...each, quantity, price } : each));
        expect(corrected).toEqual(positionOf(reported));
      }),
      { numRuns: LAW_RUNS },
    );
  });
});
