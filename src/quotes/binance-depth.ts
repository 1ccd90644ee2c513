/** A change of the book that covers the updates after `previousId` up to `lastId`. */
export interface DepthEvent {
  /** Spot: `U` − 1; futures: `pu`. Nothing is missing when it is the `lastId` of the event before. */
  readonly previousId: number;
  /** `u`. */
  readonly lastId: number;
  /** `E`, milliseconds since 1970. */
  readonly eventTimeMs: number;
  readonly bids: readonly DepthLevel[];
  readonly asks: readonly DepthLevel[];
}

/** A price, and how much there is at it now; 0: nothing any more. */
export type DepthLevel = readonly [price: number, quantity: number];

/** The whole book, or the part of it that is nearest to the best prices. */
export interface DepthSnapshot {
  readonly lastUpdateId: number;
  readonly bids: readonly DepthLevel[];
  readonly asks: readonly DepthLevel[];
}

/** The best prices after `lastId`, of which nothing is missing. */
export interface DepthPrice {
  readonly kind: 'price';
  readonly bid: number;
  readonly ask: number;
  /** Of the last event that the book has; for a book that is at its snapshot, of one that is older. */
  readonly eventTimeMs: number;
  readonly lastId: number;
}

/** What an event or a snapshot did. */
export type DepthEffect =
  | DepthPrice
  /** The event is held until a snapshot comes. */
  | { readonly kind: 'held' }
  /** Nothing: the event is older than what there is, or nobody waits for the snapshot. */
  | { readonly kind: 'stale' }
  /** The book stands no longer, and a snapshot is needed. */
  | { readonly kind: 'broken'; readonly cause: BreakCause };

export type BreakCause =
  /** Updates are missing between two events. */
  | 'gap'
  /** An event begins before the end of the one before and ends after it. */
  | 'overlap'
  /** More waits for the snapshot than may wait. */
  | 'overflow'
  /** The snapshot ends before the first event that is held. */
  | 'snapshot_too_old'
  /** The best bid is not below the best ask. */
  | 'crossed'
  /** A side has no price left, or none within what the snapshot showed of it. */
  | 'side_empty';

export const MAX_HELD_EVENTS = 1_000;
/** In all events that are held together: it bounds their memory. */
export const MAX_HELD_LEVELS = 20_000;
/** Of each side. Beyond it the half that is farther from the best price is let go of. */
export const MAX_SIDE_LEVELS = 10_000;
/** So many levels of each side a snapshot is asked for. */
export const SNAPSHOT_LEVELS = 1_000;

/**
 * The book of one symbol, kept from a snapshot and the changes after it. It is pure: it has no clock and no socket.
 * It knows prices only, for nobody asks how much there is. docs/quote-decoders.md has the rules.
 */
export class DepthBook {
  readonly #bids = new BookSide(1);
  readonly #asks = new BookSide(-1);
  #isSynced = false;
  /** Of what is held or applied; null when nothing is. */
  #lastId: number | null = null;
  /** A snapshot may end within an event; two events never overlap. */
  #isAtSnapshot = false;
  /** Without a hole. */
  #held: DepthEvent[] = [];
  #heldLevels = 0;

  /** It stands: every event is applied as it comes. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Events that wait for a snapshot. */
  get held(): number {
    return this.#held.length;
  }

  get levels(): number {
    return this.#bids.size + this.#asks.size;
  }

  /** Takes the next event of the stream. */
  take(event: DepthEvent): DepthEffect {
    if (this.#lastId !== null) {
      if (event.lastId <= this.#lastId) return { kind: 'stale' };
      if (event.previousId > this.#lastId) return this.#breakAt(event, 'gap');
      if (event.previousId < this.#lastId && !this.#isAtSnapshot) return this.#breakAt(event, 'overlap');
    }
    return this.#isSynced ? this.#apply(event) : this.#hold(event);
  }

  /**
   * Takes a snapshot: what is held and not newer is dropped, the rest is applied. Nothing is made of one that comes
   * before the first event, for it has no time of its own.
   */
  load(snapshot: DepthSnapshot): DepthEffect {
    const newest = this.#held.at(-1);
    if (newest === undefined) return { kind: 'stale' };
    const rest = this.#held.filter(({ lastId }) => lastId > snapshot.lastUpdateId);
    const first = rest[0];
    if (first !== undefined && first.previousId > snapshot.lastUpdateId) {
      return { kind: 'broken', cause: 'snapshot_too_old' };
    }
    this.reset();
    this.#bids.fill(snapshot.bids);
    this.#asks.fill(snapshot.asks);
    this.#isSynced = true;
    this.#isAtSnapshot = true;
    this.#lastId = snapshot.lastUpdateId;
    if (first === undefined) return this.#priceAfter(newest);
    let effect: DepthEffect = { kind: 'stale' };
    for (const event of rest) {
      const next = this.take(event);
      if (effect.kind !== 'broken') effect = next;
    }
    return effect;
  }

  /** Forgets everything. */
  reset(): void {
    this.#isSynced = false;
    this.#isAtSnapshot = false;
    this.#lastId = null;
    this.#held = [];
    this.#heldLevels = 0;
    this.#bids.fill([]);
    this.#asks.fill([]);
  }

  #apply(event: DepthEvent): DepthEffect {
    this.#isAtSnapshot = false;
    this.#lastId = event.lastId;
    for (const level of event.bids) this.#bids.set(level);
    for (const level of event.asks) this.#asks.set(level);
    return this.#priceAfter(event);
  }

  #priceAfter(event: DepthEvent): DepthEffect {
    const bid = this.#bids.best;
    const ask = this.#asks.best;
    if (bid === undefined || ask === undefined) return this.#breakAt(event, 'side_empty');
    if (bid >= ask) return this.#breakAt(event, 'crossed');
    return { kind: 'price', bid, ask, eventTimeMs: event.eventTimeMs, lastId: this.#lastId ?? event.lastId };
  }

  #hold(event: DepthEvent): DepthEffect {
    const levels = event.bids.length + event.asks.length;
    if (this.#held.length >= MAX_HELD_EVENTS || this.#heldLevels + levels > MAX_HELD_LEVELS) {
      // A snapshot that ends before what is kept from here on will be found too old.
      return this.#breakAt(event, 'overflow');
    }
    this.#keep(event);
    return { kind: 'held' };
  }

  /** What comes after the break is held from its event on. */
  #breakAt(event: DepthEvent, cause: BreakCause): DepthEffect {
    this.reset();
    this.#keep(event);
    return { kind: 'broken', cause };
  }

  #keep(event: DepthEvent): void {
    this.#held.push(event);
    this.#heldLevels += event.bids.length + event.asks.length;
    this.#lastId = event.lastId;
  }
}

/** The prices at which there is something on one side, of those that are known without a hole. */
class BookSide {
  /** 1 for bids, −1 for asks: with it the best price is the greatest on either side. */
  readonly #sign: 1 | -1;
  /** Times the sign, ascending: most changes are near the best price, hence at the end. */
  #prices: number[] = [];
  /** Beyond it nothing is known: what stood there when the snapshot was cut off was never told. */
  #edge = Number.NEGATIVE_INFINITY;

  constructor(sign: 1 | -1) {
    this.#sign = sign;
  }

  get size(): number {
    return this.#prices.length;
  }

  get best(): number | undefined {
    const best = this.#prices.at(-1);
    return best === undefined ? undefined : best * this.#sign;
  }

  fill(levels: readonly DepthLevel[]): void {
    this.#prices = [];
    this.#edge = Number.NEGATIVE_INFINITY;
    for (const level of levels) this.set(level);
    if (levels.length >= SNAPSHOT_LEVELS) this.#edge = this.#prices[0] ?? Number.NEGATIVE_INFINITY;
  }

  set([price, quantity]: DepthLevel): void {
    const signed = price * this.#sign;
    if (signed < this.#edge) return;
    const index = this.#indexOf(signed);
    const isThere = this.#prices[index] === signed;
    if (quantity === 0) {
      if (isThere) this.#prices.splice(index, 1);
      return;
    }
    if (isThere) return;
    this.#prices.splice(index, 0, signed);
    if (this.#prices.length > MAX_SIDE_LEVELS) {
      this.#prices = this.#prices.slice(MAX_SIDE_LEVELS / 2);
      this.#edge = this.#prices[0] ?? Number.NEGATIVE_INFINITY;
    }
  }

  /** Of the first price that is not below. */
  #indexOf(signed: number): number {
    let low = 0;
    let high = this.#prices.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#prices[middle] ?? 0) < signed) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
