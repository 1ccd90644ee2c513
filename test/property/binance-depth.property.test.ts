import fc from 'fast-check';
import {
  DepthBook,
  type DepthEffect,
  type DepthEvent,
  type DepthLevel,
  type DepthSnapshot,
} from '../../src/quotes/binance-depth';

const RUNS = 2_000;
/** Bids stand below it, asks from it on: the venue's own book is never crossed. */
const MIDDLE = 20;
const PRICES = 40;

type Rules = 'spot' | 'futures';

/** A change of one price: its place, how much there is then, and how many numbers lie before it. */
interface Update {
  readonly price: number;
  readonly quantity: number;
  readonly skip: number;
}
/** An event, what becomes of it, and perhaps a snapshot. */
interface Move {
  readonly updates: readonly Update[];
  readonly fate: 'delivered' | 'lost' | 'twice' | 'after a former one';
  /** It is made of the book after so many of the updates; null: there is none. */
  readonly snapshotAfter: number | null;
  /** It arrives so many moves later. */
  readonly delay: number;
}

const update: fc.Arbitrary<Update> = fc.record({
  price: fc.integer({ min: 1, max: PRICES - 1 }),
  quantity: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9 })),
  skip: fc.integer({ min: 0, max: 3 }),
});
const move: fc.Arbitrary<Move> = fc.record({
  updates: fc.array(update, { minLength: 1, maxLength: 4 }),
  fate: fc.oneof(
    { weight: 8, arbitrary: fc.constant('delivered' as const) },
    { weight: 2, arbitrary: fc.constant('lost' as const) },
    { weight: 1, arbitrary: fc.constant('twice' as const) },
    { weight: 1, arbitrary: fc.constant('after a former one' as const) },
  ),
  snapshotAfter: fc.option(fc.integer({ min: 0, max: 4 }), { freq: 2 }),
  delay: fc.integer({ min: 0, max: 5 }),
});

/** The venue: it has the book as a map, and knows its best prices after every single number. */
class Venue {
  readonly #rules: Rules;
  readonly #quantities = new Map<number, number>([
    [0, 1],
    [PRICES, 1],
  ]);
  readonly bestAfter = new Map<number, { readonly bid: number; readonly ask: number }>();
  lastId = 100;

  constructor(rules: Rules) {
    this.#rules = rules;
    this.#note();
  }

  /** Makes the event of these updates; `visit` is called with how many are done. */
  event(updates: readonly Update[], visit: (done: number) => void): DepthEvent {
    const previousId = this.lastId;
    const bids: DepthLevel[] = [];
    const asks: DepthLevel[] = [];
    visit(0);
    for (const [index, { price, quantity, skip }] of updates.entries()) {
      // Between the updates of a symbol futures have numbers of others.
      for (let id = 0; id < (this.#rules === 'futures' ? skip : 0) + 1; id += 1) {
        this.lastId += 1;
        this.#note();
      }
      this.#quantities.set(price, quantity);
      this.#note();
      (price < MIDDLE ? bids : asks).push([price, quantity]);
      visit(index + 1);
    }
    return { previousId, lastId: this.lastId, eventTimeMs: this.lastId, bids, asks };
  }

  snapshot(): DepthSnapshot {
    const levels = [...this.#quantities].filter(([, quantity]) => quantity > 0);
    return {
      lastUpdateId: this.lastId,
      bids: levels.filter(([price]) => price < MIDDLE),
      asks: levels.filter(([price]) => price >= MIDDLE),
    };
  }

  #note(): void {
    const prices = [...this.#quantities].filter(([, quantity]) => quantity > 0).map(([price]) => price);
    this.bestAfter.set(this.lastId, {
      bid: Math.max(...prices.filter((price) => price < MIDDLE)),
      ask: Math.min(...prices.filter((price) => price >= MIDDLE)),
    });
  }
}

/** Plays the moves, and hands every effect and what it came from to `see`. */
function play(
  rules: Rules,
  moves: readonly Move[],
  see: (effect: DepthEffect, event: DepthEvent | null, venue: Venue, book: DepthBook) => void,
): void {
  const venue = new Venue(rules);
  const book = new DepthBook();
  const former: DepthEvent[] = [];
  const onTheWay: { readonly at: number; readonly snapshot: DepthSnapshot }[] = [];
  for (const [at, { updates, fate, snapshotAfter, delay }] of moves.entries()) {
    const event = venue.event(updates, (done) => {
      if (done === snapshotAfter) onTheWay.push({ at: at + delay, snapshot: venue.snapshot() });
    });
    const deliver = (delivered: DepthEvent): void => {
      see(book.take(delivered), delivered, venue, book);
    };
    if (fate === 'after a former one' && former[0] !== undefined) deliver(former[0]);
    if (fate !== 'lost') deliver(event);
    if (fate === 'twice') deliver(event);
    former.push(event);
    for (const { snapshot } of onTheWay.filter((arriving) => arriving.at === at)) {
      see(book.load(snapshot), null, venue, book);
    }
  }
}

const moves = fc.array(move, { minLength: 1, maxLength: 40 });
const rules = fc.constantFrom<Rules>('spot', 'futures');

describe('a depth book, whatever is lost, repeated, overtaken or late', () => {
  test('never gives a price that the venue did not have', () => {
    let prices = 0;
    fc.assert(
      fc.property(rules, moves, (chosen, played) => {
        play(chosen, played, (effect, _, venue) => {
          if (effect.kind !== 'price') return;
          prices += 1;
          expect({ bid: effect.bid, ask: effect.ask }).toEqual(venue.bestAfter.get(effect.lastId));
          expect(effect.eventTimeMs).toBeLessThanOrEqual(effect.lastId);
        });
      }),
      { numRuns: RUNS },
    );
    expect(prices).toBeGreaterThan(RUNS);
  });

  test('notices every event that is missing, with the first one after it', () => {
    let gaps = 0;
    fc.assert(
      fc.property(rules, moves, (chosen, played) => {
        /** The highest number of an event or a snapshot that the book was given and did not call stale. */
        let reached: number | null = null;
        play(chosen, played, (effect, event, _, book) => {
          if (event === null) {
            if (effect.kind === 'price') reached = Math.max(reached ?? 0, effect.lastId);
            return;
          }
          const isMissing = reached !== null && event.previousId > reached;
          expect(effect.kind === 'broken').toBe(isMissing);
          if (isMissing) {
            gaps += 1;
            expect([effect, book.isSynced]).toEqual([{ kind: 'broken', cause: 'gap' }, false]);
          }
          expect(effect.kind === 'stale').toBe(reached !== null && event.lastId <= reached);
          if (effect.kind !== 'stale') reached = event.lastId;
        });
      }),
      { numRuns: RUNS },
    );
    expect(gaps).toBeGreaterThan(RUNS / 4);
  });

  test('stands again after any break, with an event and a snapshot of the same number', () => {
    fc.assert(
      fc.property(rules, moves, (chosen, played) => {
        let last: [Venue, DepthBook] | undefined;
        play(chosen, played, (_, __, venue, book) => (last = [venue, book]));
        if (last === undefined) return;
        const [venue, book] = last;
        book.take(venue.event([{ price: 1, quantity: 1, skip: 0 }], () => undefined));
        if (!book.isSynced) expect(book.load(venue.snapshot()).kind).toBe('price');
        expect(book.isSynced).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });
});
