import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { encodeEndOfSession, encodeMoldPacket } from './moldudp64';
import type { RecordedQuote } from './recorded-quotes';
import { encodeQuoteMessage } from './tekil-quote-message';

export interface SimulatedFeedOptions {
  readonly host: string;
  readonly port: number;
  /** Symbol → the price that its random walk starts from. */
  readonly symbols: Readonly<Record<string, number>>;
  /** Between two ticks of a symbol. */
  readonly tickIntervalMs: number;
  /** A recorded day, played again and again beside the random walks. */
  readonly recording?: Recording;
}

export interface Recording {
  readonly symbol: string;
  /** At least one, oldest first. */
  readonly quotes: readonly RecordedQuote[];
  /** 1: as it was; 60: an hour in a minute. */
  readonly speed: number;
}

/** A quote that is about to be sent. */
interface Price {
  readonly symbol: string;
  readonly bid: number;
  readonly ask: number;
}

/** Half the distance between bid and ask, as a share of the price. */
const HALF_SPREAD = 0.00005;
/** The largest step of the walk, as a share of the price. */
const STEP = 0.0001;
/** A packet of so many messages fits an Ethernet frame. */
const MESSAGES_PER_PACKET = 20;
/** A recording that is played too fast lags behind instead of flooding the receiver. */
const RECORDED_QUOTES_PER_BEAT = 1_000;
/** Well below the silence that a gate forgives. */
const HEARTBEAT_INTERVAL_MS = 250;

/**
 * A quote feed for demonstrations and tests: MoldUDP64 over UDP, heartbeats when there is nothing else to say, a
 * snapshot of all prices at the start of each session. On request it misbehaves like real ones do.
 */
export class SimulatedFeed {
  readonly #options: SimulatedFeedOptions;
  readonly #socket: Socket = createSocket('udp4');
  readonly #prices = new Map<string, Price>();
  #session = newSessionId();
  #next = 1n;
  #timers: NodeJS.Timeout[] = [];
  #resumeTimer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;
  #mode: 'ticks' | 'heartbeats' | 'silent' = 'ticks';
  #sourceDelayMs = 0;
  #lastPacket: Buffer | undefined;
  #lastSentMs = 0;
  #playedFromMs = 0;
  #played = 0;

  constructor(options: SimulatedFeedOptions) {
    this.#options = options;
    for (const [symbol, mid] of Object.entries(options.symbols)) this.#setMid(symbol, mid);
    // A process may end while the feed still talks; a socket that only sends must not keep it alive.
    this.#socket.unref();
  }

  /** Begins to talk, or goes on after `stop`, with the same session and the next number. */
  start(): void {
    if (this.#timers.length > 0) return;
    if (this.#played === 0) this.#playedFromMs = performance.now();
    this.#timers = [
      setInterval(() => {
        this.#beat();
      }, this.#options.tickIntervalMs),
      setInterval(() => {
        this.#heartbeat();
      }, HEARTBEAT_INTERVAL_MS),
    ];
  }

  stop(): void {
    clearTimeout(this.#resumeTimer);
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
  }

  /** Ends for good; closing twice is as good as once. */
  close(): Promise<void> {
    this.stop();
    this.#closing ??= new Promise<void>((resolve) => {
      this.#socket.close(resolve);
    });
    return this.#closing;
  }

  /** `silent`: nothing at all is sent. `heartbeats`: the provider lives, its prices do not move. */
  setMode(mode: 'ticks' | 'heartbeats' | 'silent'): void {
    clearTimeout(this.#resumeTimer);
    this.#mode = mode;
  }

  /** Nothing at all is sent for `durationMs`, or until `resume`. */
  silence(durationMs?: number): void {
    this.setMode('silent');
    if (durationMs === undefined) return;
    this.#resumeTimer = setTimeout(() => {
      this.resume();
    }, durationMs);
  }

  resume(): void {
    this.setMode('ticks');
  }

  /** Loses `count` messages: their numbers are used and never sent. */
  skip(count: number): void {
    this.#next += BigInt(count);
  }

  /** Sends the last packet with messages again, `count` times. */
  repeat(count = 1): void {
    if (this.#lastPacket === undefined) return;
    for (let time = 0; time < count; time += 1) this.#send(this.#lastPacket);
  }

  /** Ends the session and begins another, whose numbers start at 1. */
  newSession(): void {
    this.#send(encodeEndOfSession(this.#session, this.#next));
    this.#session = newSessionId();
    this.#next = 1n;
  }

  /** Stamps quotes as if they had left the source this much earlier; negative: later. */
  delaySource(delayMs: number): void {
    this.#sourceDelayMs = delayMs;
  }

  /** States every price in full, which is what heals a delta feed. */
  snapshot(): void {
    this.#sendPrices('snapshot', [...this.#prices.values()]);
  }

  /** The last mid price of a symbol; undefined for one that this feed does not know. */
  lastPrice(symbol: string): number | undefined {
    const price = this.#prices.get(symbol);
    return price === undefined ? undefined : (price.bid + price.ask) / 2;
  }

  #beat(): void {
    // Time passes for a silent feed, too: what was recorded meanwhile is never sent.
    const recorded = this.#playRecording();
    if (this.#mode !== 'ticks') return;
    const walked = Object.keys(this.#options.symbols).map((symbol) => this.#walk(symbol));
    if (this.#next === 1n) this.snapshot();
    this.#sendPrices('tick', [...walked, ...recorded]);
  }

  #heartbeat(): void {
    const idleMs = performance.now() - this.#lastSentMs;
    if (this.#mode === 'silent' || (this.#mode === 'ticks' && idleMs < HEARTBEAT_INTERVAL_MS)) return;
    this.#send(encodeMoldPacket(this.#session, this.#next, []));
  }

  #sendPrices(kind: 'tick' | 'snapshot', prices: readonly Price[]): void {
    const sourceTimeMs = Date.now() - this.#sourceDelayMs;
    for (let first = 0; first < prices.length; first += MESSAGES_PER_PACKET) {
      const messages = prices
        .slice(first, first + MESSAGES_PER_PACKET)
        .map((price) => encodeQuoteMessage({ kind, sourceTimeMs, ...price }));
      this.#lastPacket = encodeMoldPacket(this.#session, this.#next, messages);
      this.#next += BigInt(messages.length);
      this.#send(this.#lastPacket);
    }
  }

  /** The recorded quotes that have become due since the last beat. */
  #playRecording(): Price[] {
    const { recording } = this.#options;
    const first = recording?.quotes[0];
    if (recording === undefined || first === undefined) return [];
    if (this.#played === recording.quotes.length) {
      this.#played = 0;
      this.#playedFromMs = performance.now();
    }
    const untilMs = first.atMs + (performance.now() - this.#playedFromMs) * recording.speed;
    const due: Price[] = [];
    let quote = recording.quotes[this.#played];
    while (quote !== undefined && quote.atMs <= untilMs && due.length < RECORDED_QUOTES_PER_BEAT) {
      const price = { symbol: recording.symbol, bid: quote.bid, ask: quote.ask };
      this.#prices.set(recording.symbol, price);
      due.push(price);
      this.#played += 1;
      quote = recording.quotes[this.#played];
    }
    return due;
  }

  #walk(symbol: string): Price {
    return this.#setMid(symbol, (this.lastPrice(symbol) ?? 1) * (1 + (Math.random() * 2 - 1) * STEP));
  }

  #setMid(symbol: string, mid: number): Price {
    const price = { symbol, bid: mid * (1 - HALF_SPREAD), ask: mid * (1 + HALF_SPREAD) };
    this.#prices.set(symbol, price);
    return price;
  }

  #send(packet: Buffer): void {
    this.#lastSentMs = performance.now();
    // Quotes are sent at most once: one that the kernel will not take is gone.
    this.#socket.send(packet, this.#options.port, this.#options.host, () => undefined);
  }
}

/** Never the same twice: a session id that comes back is taken for the old session. */
function newSessionId(): string {
  return randomBytes(5).toString('hex').toUpperCase();
}
