import {
  DepthBook,
  MAX_HELD_EVENTS,
  MAX_HELD_LEVELS,
  MAX_SIDE_LEVELS,
  SNAPSHOT_LEVELS,
  type DepthEvent,
  type DepthLevel,
  type DepthSnapshot,
} from '../../src/quotes/binance-depth';

const EVENT_TIME_MS = Date.parse('2026-03-14T10:00:00Z');

/** An event of a spot stream: its numbers `from` to `to`. */
const event = (from: number, to: number, fields: Partial<DepthEvent> = {}): DepthEvent => ({
  previousId: from - 1,
  lastId: to,
  eventTimeMs: EVENT_TIME_MS + to,
  bids: [],
  asks: [],
  ...fields,
});

const snapshot = (lastUpdateId: number, fields: Partial<DepthSnapshot> = {}): DepthSnapshot => ({
  lastUpdateId,
  bids: [
    [10, 1],
    [9, 1],
  ],
  asks: [
    [11, 1],
    [12, 1],
  ],
  ...fields,
});

/** A book that stands at 100, after the event 91 to 100. */
const aBook = (fields: Partial<DepthSnapshot> = {}): DepthBook => {
  const book = new DepthBook();
  book.take(event(91, 100));
  book.load(snapshot(100, fields));
  return book;
};

const price = (bid: number, ask: number, lastId: number) => ({
  kind: 'price',
  bid,
  ask,
  lastId,
  eventTimeMs: EVENT_TIME_MS + lastId,
});
const broken = (cause: string) => ({ kind: 'broken', cause });

describe('a book that waits for its snapshot', () => {
  test('holds the events that come meanwhile', () => {
    const book = new DepthBook();
    expect(book.take(event(91, 95))).toEqual({ kind: 'held' });
    expect(book.take(event(96, 100))).toEqual({ kind: 'held' });
    expect([book.isSynced, book.held]).toEqual([false, 2]);
  });

  test('drops those of them that the snapshot has, and applies the others', () => {
    const book = new DepthBook();
    book.take(event(91, 95, { bids: [[10.5, 7]] }));
    book.take(event(96, 100, { bids: [[10.4, 7]] }));
    book.take(event(101, 105, { asks: [[11, 0]] }));
    expect(book.load(snapshot(95))).toEqual(price(10.4, 12, 105));
    expect([book.isSynced, book.held]).toEqual([true, 0]);
  });

  test('takes a snapshot that ends within an event', () => {
    const book = new DepthBook();
    book.take(event(91, 95));
    book.take(event(96, 100, { bids: [[10.4, 7]] }));
    expect(book.load(snapshot(98))).toEqual(price(10.4, 11, 100));
  });

  test('takes a snapshot that is newer than all of them, under the time of the newest', () => {
    const book = new DepthBook();
    book.take(event(91, 95));
    expect(book.load(snapshot(98))).toEqual({ ...price(10, 11, 95), lastId: 98 });
    expect(book.take(event(96, 97))).toEqual({ kind: 'stale' });
    expect(book.take(event(98, 99, { bids: [[10.4, 7]] }))).toEqual(price(10.4, 11, 99));
  });

  test('wants another one when the snapshot ends before the first of them', () => {
    const book = new DepthBook();
    book.take(event(91, 95));
    expect(book.load(snapshot(89))).toEqual(broken('snapshot_too_old'));
    expect([book.isSynced, book.held]).toEqual([false, 1]);
    expect(book.load(snapshot(90))).toEqual(price(10, 11, 95));
  });

  test('makes nothing of a snapshot before the first event, which alone has a time', () => {
    const book = new DepthBook();
    expect(book.load(snapshot(100))).toEqual({ kind: 'stale' });
    expect(book.isSynced).toBe(false);
  });

  test('begins again with what comes after a gap', () => {
    const book = new DepthBook();
    book.take(event(91, 95));
    expect(book.take(event(97, 100))).toEqual(broken('gap'));
    expect(book.held).toBe(1);
    expect(book.load(snapshot(95))).toEqual(broken('snapshot_too_old'));
    expect(book.load(snapshot(96))).toEqual(price(10, 11, 100));
  });

  test('holds no more events than it may', () => {
    const book = new DepthBook();
    for (let id = 1; id <= MAX_HELD_EVENTS; id += 1) expect(book.take(event(id, id)).kind).toBe('held');
    expect(book.take(event(MAX_HELD_EVENTS + 1, MAX_HELD_EVENTS + 1))).toEqual(broken('overflow'));
    expect(book.held).toBe(1);
    expect(book.load(snapshot(MAX_HELD_EVENTS - 1))).toEqual(broken('snapshot_too_old'));
    expect(book.load(snapshot(MAX_HELD_EVENTS)).kind).toBe('price');
  });

  test('holds no more levels than it may', () => {
    const book = new DepthBook();
    const bids = Array.from({ length: MAX_HELD_LEVELS }, (_, index): DepthLevel => [index + 1, 1]);
    expect(book.take(event(1, 1, { bids }))).toEqual({ kind: 'held' });
    expect(book.take(event(2, 2))).toEqual({ kind: 'held' });
    expect(book.take(event(3, 3, { asks: [[1, 1]] }))).toEqual(broken('overflow'));
    expect(book.held).toBe(1);
  });
});

describe('a book that stands', () => {
  test('takes a quantity for what there is, and nothing for nothing', () => {
    const book = aBook();
    expect(book.take(event(101, 101, { bids: [[10.5, 3]] }))).toEqual(price(10.5, 11, 101));
    expect(book.take(event(102, 102, { bids: [[10.5, 1]] }))).toEqual(price(10.5, 11, 102));
    expect(book.take(event(103, 103, { bids: [[10.5, 0]] }))).toEqual(price(10, 11, 103));
    expect(book.take(event(104, 104, { asks: [[11, 0]] }))).toEqual(price(10, 12, 104));
  });

  test('does not mind the removal of what is not there', () => {
    expect(aBook().take(event(101, 101, { bids: [[9.7, 0]] }))).toEqual(price(10, 11, 101));
  });

  test('drops an event that it has had', () => {
    const book = aBook();
    expect(book.take(event(91, 100, { bids: [[10.5, 3]] }))).toEqual({ kind: 'stale' });
    expect(book.take(event(101, 101))).toEqual(price(10, 11, 101));
  });

  test('falls with the first number that is missing, and stands again with the next snapshot', () => {
    const book = aBook();
    book.take(event(101, 101));
    expect(book.take(event(103, 104))).toEqual(broken('gap'));
    expect(book.take(event(105, 105))).toEqual({ kind: 'held' });
    expect(book.load(snapshot(104))).toEqual(price(10, 11, 105));
  });

  test('falls with the first number that is missing after its snapshot', () => {
    expect(aBook().take(event(102, 104))).toEqual(broken('gap'));
  });

  test('falls when two events overlap, which they never do', () => {
    const book = aBook();
    book.take(event(101, 105));
    expect(book.take(event(104, 107))).toEqual(broken('overlap'));
  });

  test('may overlap with its snapshot only once', () => {
    const book = aBook();
    expect(book.take(event(99, 102))).toEqual(price(10, 11, 102));
    expect(book.take(event(99, 103))).toEqual(broken('overlap'));
  });

  test('follows the numbers of futures, which are not contiguous', () => {
    const book = aBook();
    expect(book.take({ ...event(105, 109), previousId: 100 })).toEqual(price(10, 11, 109));
    expect(book.take({ ...event(115, 120), previousId: 109 })).toEqual(price(10, 11, 120));
    expect(book.take({ ...event(125, 130), previousId: 121 })).toEqual(broken('gap'));
  });

  test('falls when its best bid is not below its best ask', () => {
    expect(aBook().take(event(101, 101, { bids: [[11, 1]] }))).toEqual(broken('crossed'));
    expect(aBook().take(event(101, 101, { asks: [[9.5, 1]] }))).toEqual(broken('crossed'));
  });

  test('falls when a side is empty', () => {
    const bids: DepthLevel[] = [
      [10, 0],
      [9, 0],
    ];
    expect(aBook().take(event(101, 101, { bids }))).toEqual(broken('side_empty'));
  });

  test('takes nothing for the best price of which it was not told all', () => {
    const whole = Array.from({ length: SNAPSHOT_LEVELS }, (_, index): DepthLevel => [10_000 - index, 1]);
    const book = aBook({ bids: whole, asks: [[20_000, 1]] });
    const below: DepthLevel = [10_000 - SNAPSHOT_LEVELS, 1];
    expect(book.take(event(101, 101, { bids: [below] })).kind).toBe('price');
    const bids = whole.map(([level]): DepthLevel => [level, 0]);
    expect(book.take(event(102, 102, { bids }))).toEqual(broken('side_empty'));
  });

  test('keeps no more levels than it may, and those that are nearest to the best price', () => {
    const book = aBook({ bids: [[1, 1]], asks: [[1_000_000, 1]] });
    const bids = Array.from({ length: MAX_SIDE_LEVELS }, (_, index): DepthLevel => [index + 2, 1]);
    expect(book.take(event(101, 101, { bids }))).toEqual(price(MAX_SIDE_LEVELS + 1, 1_000_000, 101));
    expect(book.levels).toBeLessThanOrEqual(MAX_SIDE_LEVELS + 1);
    const fallen = bids.map(([level]): DepthLevel => [level, 0]);
    expect(book.take(event(102, 102, { bids: fallen }))).toEqual(broken('side_empty'));
  });
});
