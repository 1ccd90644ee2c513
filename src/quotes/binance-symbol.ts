import {
  applyEndOfSession,
  applyHeartbeat,
  applyOther,
  applyQuote,
  awaitMissing,
  newFeed,
  nextSequence,
  nothingIsMissing,
  type Effect,
  type FeedRules,
  type FeedState,
} from '../domain/quote-health';
import type { Metrics } from '../observability/metrics';
import {
  DepthBook,
  type BreakCause,
  type DepthEvent,
  type DepthPrice,
  type DepthSnapshot,
} from './binance-depth';
import type { BookTicker } from './binance-messages';

export interface BinanceSymbolOptions {
  readonly feed: string;
  readonly symbol: string;
  /** The book waits for a snapshot; said again with every event that it holds. */
  readonly wantSnapshot: () => void;
}

/** A book gives whole prices, but each of them rests on every event since its snapshot. */
const DEPTH_RULES: FeedRules = { kind: 'delta', heartbeatSequence: 'last' };
const TICKER_RULES: FeedRules = { kind: 'full', heartbeatSequence: 'last' };

/**
 * One symbol of Binance in the terms of quote health. Its update ids are the numbers, and with each snapshot a session
 * begins: a price that was doubted is believed again when its book was built anew, and not before.
 */
export class BinanceSymbol {
  readonly state: FeedState = newFeed();
  readonly #options: BinanceSymbolOptions;
  readonly #metrics: Metrics;
  readonly #book = new DepthBook();
  #connection = '';
  /** Snapshots that were loaded on this connection. */
  #snapshots = 0;

  constructor(options: BinanceSymbolOptions, metrics: Metrics) {
    this.#options = options;
    this.#metrics = metrics;
  }

  /** There are events, but no book that they could be applied to. */
  get awaitsSnapshot(): boolean {
    return !this.#book.isSynced && this.#book.held > 0;
  }

  get #session(): string {
    return `${this.#connection}/${this.#snapshots}`;
  }

  connected(connection: string): void {
    this.#connection = connection;
    this.#snapshots = 0;
  }

  disconnected(nowMs: number): void {
    this.#book.reset();
    nothingIsMissing(this.state);
    const sequence = nextSequence(this.state);
    if (sequence !== null) applyEndOfSession(this.state, { session: this.#session, sequence }, nowMs);
  }

  /** The connection has proved that it lives; whether a number is missing only the next message can tell. */
  alive(nowMs: number): void {
    const { lastSequence: sequence } = this.state;
    if (sequence === null) return;
    applyHeartbeat(this.state, DEPTH_RULES, { session: this.#session, sequence }, nowMs);
  }

  /** False for an event that says nothing new. */
  takeEvent(event: DepthEvent, nowMs: number): boolean {
    const effect = this.#book.take(event);
    const firstSequence = BigInt(event.previousId) + 1n;
    switch (effect.kind) {
      case 'stale':
        this.#count('repeat');
        return false;
      case 'price':
        this.#price('tick', effect, firstSequence, nowMs);
        return true;
      case 'held':
      case 'broken': {
        if (effect.kind === 'broken') this.#broke(effect.cause);
        // A gap shows in the numbers; what else breaks a book does not, and the price is doubted all the same.
        const understood = effect.kind === 'held' || effect.cause === 'gap';
        const input = { session: this.#session, firstSequence, sequence: BigInt(event.lastId), understood };
        this.#count('held', applyOther(this.state, input, nowMs));
        this.#options.wantSnapshot();
        return true;
      }
    }
  }

  /** The snapshot that was wanted has come. */
  load(snapshot: DepthSnapshot, nowMs: number): void {
    const effect = this.#book.load(snapshot);
    if (effect.kind === 'broken') {
      this.#broke(effect.cause);
      this.#options.wantSnapshot();
    }
    if (effect.kind !== 'price') return;
    this.#snapshots += 1;
    nothingIsMissing(this.state);
    this.#price('snapshot', effect, undefined, nowMs);
  }

  /** False for a price that says nothing new. */
  takeTicker({ updateId, eventTimeMs, bid, ask }: BookTicker, nowMs: number): boolean {
    nothingIsMissing(this.state);
    const sequence = BigInt(updateId);
    const input = {
      session: this.#session,
      // The numbers grow, but not by one: none of them is ever missing.
      firstSequence: nextSequence(this.state) ?? sequence,
      sequence,
      kind: 'tick',
      symbol: this.#options.symbol,
      bid,
      ask,
      sourceTimeMs: eventTimeMs,
    } as const;
    const effect = applyQuote(this.state, TICKER_RULES, input, nowMs);
    this.#count(effect.outcome, effect);
    return effect.outcome === 'taken';
  }

  /** A message of this symbol could not be read: no price is certain until one is stated in full. */
  unread(nowMs: number): void {
    this.#book.reset();
    awaitMissing(this.state, nowMs);
    this.#broke('unread');
  }

  #price(
    kind: 'tick' | 'snapshot',
    price: DepthPrice,
    firstSequence: bigint | undefined,
    nowMs: number,
  ): void {
    const sequence = BigInt(price.lastId);
    const effect = applyQuote(
      this.state,
      DEPTH_RULES,
      {
        session: this.#session,
        firstSequence: firstSequence ?? sequence,
        sequence,
        kind,
        symbol: this.#options.symbol,
        bid: price.bid,
        ask: price.ask,
        sourceTimeMs: price.eventTimeMs,
      },
      nowMs,
    );
    this.#count(effect.outcome, effect);
  }

  #broke(cause: BreakCause | 'unread'): void {
    this.#metrics.quoteResyncs.inc({ feed: this.#options.feed, cause });
  }

  #count(outcome: string, effect?: Effect): void {
    const { feed } = this.#options;
    this.#metrics.quoteTicks.inc({ feed, outcome });
    if (effect !== undefined && effect.lost > 0n) {
      this.#metrics.quoteTicksLost.inc({ feed }, Number(effect.lost));
    }
  }
}
