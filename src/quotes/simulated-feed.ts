import { createSocket, type Socket } from 'node:dgram';
import { encodeEndOfSession, encodeMoldPacket } from './moldudp64';
import { encodeQuoteMessage } from './tekil-quote-message';

export interface SimulatedFeedOptions {
  readonly host: string;
  readonly port: number;
  /** Symbol → the price that the walk starts from. */
  readonly symbols: Readonly<Record<string, number>>;
  /** Between two ticks of a symbol. */
  readonly tickIntervalMs: number;
  /** Recorded mid prices to send instead of a random walk, e.g. one day of a real venue; repeated when they end. */
  readonly recording?: Iterable<RecordedQuote>;
}

export interface RecordedQuote {
  readonly symbol: string;
  readonly bid: number;
  readonly ask: number;
}

/** Half the distance between bid and ask, as a share of the price. */
const HALF_SPREAD = 0.00005;
/** The largest step of the walk, as a share of the price. */
const STEP = 0.0001;

/**
 * A quote feed for demonstrations and tests: MoldUDP64 over UDP, one tick of every symbol in each interval, a heartbeat
 * when it is told to send no ticks. On request it misbehaves like real ones do.
 */
export class SimulatedFeed {
  readonly #options: SimulatedFeedOptions;
  readonly #socket: Socket = createSocket('udp4');
  readonly #prices: Map<string, number>;
  #session = newSessionId();
  #next = 1n;
  #timer: NodeJS.Timeout | undefined;
  #mode: 'ticks' | 'heartbeats' | 'silent' = 'ticks';
  #sourceDelayMs = 0;
  #recording: Iterator<RecordedQuote> | undefined;
  #last: Buffer | undefined;

  constructor(options: SimulatedFeedOptions) {
    this.#options = options;
    this.#prices = new Map(Object.entries(options.symbols));
    // A process may end while the feed still talks; a socket that only sends must not keep it alive.
    this.#socket.unref();
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#beat();
    }, this.#options.tickIntervalMs);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await new Promise<void>((resolve) => {
      this.#socket.close(resolve);
    });
  }

  /** `silent`: nothing at all is sent. `heartbeats`: the provider lives, its prices do not move. */
  setMode(mode: 'ticks' | 'heartbeats' | 'silent'): void {
    this.#mode = mode;
  }

  /** Loses `count` messages: their numbers are used and never sent. */
  skip(count: number): void {
    this.#next += BigInt(count);
  }

  /** Sends the last packet again. */
  repeat(): void {
    if (this.#last !== undefined) this.#send(this.#last);
  }

  /** Ends the session and begins another, whose numbers start at 1. */
  newSession(): void {
    this.#send(encodeEndOfSession(this.#session, this.#next));
    this.#session = newSessionId();
    this.#next = 1n;
  }

  /** Stamps quotes as if they had left the source this much earlier. */
  delaySource(delayMs: number): void {
    this.#sourceDelayMs = delayMs;
  }

  /** The last mid price of a symbol; undefined for one that this feed does not know. */
  lastPrice(symbol: string): number | undefined {
    return this.#prices.get(symbol);
  }

  #beat(): void {
    if (this.#mode === 'silent') return;
    if (this.#mode === 'heartbeats') {
      this.#send(encodeMoldPacket(this.#session, this.#next, []));
      return;
    }
    const messages = this.#quotes().map((quote) =>
      encodeQuoteMessage({ kind: 'tick', sourceTimeMs: Date.now() - this.#sourceDelayMs, ...quote }),
    );
    this.#last = encodeMoldPacket(this.#session, this.#next, messages);
    this.#next += BigInt(messages.length);
    this.#send(this.#last);
  }

  #quotes(): RecordedQuote[] {
    const { recording } = this.#options;
    if (recording === undefined) return [...this.#prices.keys()].map((symbol) => this.#walk(symbol));
    this.#recording ??= recording[Symbol.iterator]();
    const { done, value } = this.#recording.next() as IteratorResult<RecordedQuote, undefined>;
    if (done === true) {
      this.#recording = undefined;
      return [];
    }
    this.#prices.set(value.symbol, (value.bid + value.ask) / 2);
    return [value];
  }

  #walk(symbol: string): RecordedQuote {
    const price = (this.#prices.get(symbol) ?? 1) * (1 + (Math.random() * 2 - 1) * STEP);
    this.#prices.set(symbol, price);
    return { symbol, bid: price * (1 - HALF_SPREAD), ask: price * (1 + HALF_SPREAD) };
  }

  #send(packet: Buffer): void {
    // Quotes are sent at most once: one that the kernel will not take is gone.
    this.#socket.send(packet, this.#options.port, this.#options.host, () => undefined);
  }
}

function newSessionId(): string {
  return Date.now().toString(36).slice(-10).padStart(10, '0');
}
