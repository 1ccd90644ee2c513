import { WebSocket, type RawData } from 'ws';
import type { Logger } from '../observability/logger';

export interface StreamSocketOptions {
  readonly url: string;
  /** So often the other side is asked for a sign of life. */
  readonly pingIntervalMs: number;
  /** A connection on which nothing was heard for so long is given up. */
  readonly maxSilenceMs: number;
  /** Of the wait before the first attempt to connect again; it doubles with each that fails. */
  readonly minReconnectMs: number;
  readonly maxReconnectMs: number;
}

export interface StreamSink {
  readonly opened: () => void;
  /** Takes a text frame; false when the connection is to be given up for it. */
  readonly text: (text: string) => boolean;
  readonly pong: () => void;
  /** Of a connection that was open. */
  readonly closed: () => void;
  /** For the counters; `failed`: it was never open. */
  readonly ended: (outcome: StreamEnd) => void;
}

export type StreamEnd = 'failed' | 'closed' | 'silent' | 'unreadable' | 'too_large';

const HANDSHAKE_TIMEOUT_MS = 5_000;
/** A larger frame ends the connection before it is read. */
export const MAX_FRAME_BYTES = 1024 * 1024;
/** Only a connection that lived for so long shows that the wait before the next may begin small again. */
const STABLE_MS = 10_000;

/** One WebSocket connection that is opened again for as long as it is wanted, after a wait that grows and is random. */
export class StreamSocket {
  readonly #options: StreamSocketOptions;
  readonly #sink: StreamSink;
  readonly #logger: Logger;
  #connection: Connection | null = null;
  #reconnect: NodeJS.Timeout | undefined;
  /** Connections in a row that did not live long. */
  #failures = 0;
  #isClosed = false;

  constructor(options: StreamSocketOptions, sink: StreamSink, logger: Logger) {
    this.#options = options;
    this.#sink = sink;
    this.#logger = logger;
  }

  start(): void {
    this.#connection = new Connection(this.#options, this.#sink, (outcome, livedMs, cause) => {
      this.#connection = null;
      this.#sink.ended(outcome);
      if (this.#isClosed) return;
      this.#failures = livedMs >= STABLE_MS ? 0 : this.#failures + 1;
      const delayMs = this.#delayMs();
      this.#logger.warn({ outcome, delayMs, err: cause }, 'the connection of the quote stream has ended');
      this.#reconnect = setTimeout(() => {
        this.start();
      }, delayMs);
    });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#reconnect);
    this.#connection?.end('closed');
    return Promise.resolve();
  }

  /** Half of it is random, so that many who were cut off together do not come back together. */
  #delayMs(): number {
    const { minReconnectMs, maxReconnectMs } = this.#options;
    const grown = Math.min(maxReconnectMs, minReconnectMs * 2 ** Math.max(0, this.#failures - 1));
    return Math.round(grown * (0.5 + Math.random() / 2));
  }
}

type OnEnd = (outcome: StreamEnd, livedMs: number, cause: unknown) => void;

/** One connection, from the attempt to its end, which is told once. */
class Connection {
  readonly #socket: WebSocket;
  readonly #options: StreamSocketOptions;
  readonly #sink: StreamSink;
  readonly #onEnd: OnEnd;
  #openedMs: number | null = null;
  #heardMs = 0;
  #pings: NodeJS.Timeout | undefined;
  #cause: unknown;
  #hasEnded = false;

  constructor(options: StreamSocketOptions, sink: StreamSink, onEnd: OnEnd) {
    this.#options = options;
    this.#sink = sink;
    this.#onEnd = onEnd;
    this.#socket = new WebSocket(options.url, {
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
    });
    this.#listen();
  }

  #listen(): void {
    const socket = this.#socket;
    socket.on('open', () => {
      this.#open();
    });
    socket.on('message', (data, isBinary) => {
      this.#heard();
      this.#take(data, isBinary);
    });
    socket.on('ping', () => {
      this.#heard();
    });
    socket.on('pong', () => {
      this.#heard();
      if (!this.#hasEnded) this.#sink.pong();
    });
    // After its error a socket closes, or has never been open.
    socket.on('error', (error) => {
      this.#cause = error;
      const isTooLarge = 'code' in error && error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
      if (isTooLarge) this.end('too_large');
    });
    socket.on('close', () => {
      this.end(this.#openedMs === null ? 'failed' : 'closed');
    });
  }

  /** Gives the connection up; nothing that still arrives on it is taken. */
  end(outcome: StreamEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearInterval(this.#pings);
    this.#socket.terminate();
    const livedMs = this.#openedMs === null ? 0 : performance.now() - this.#openedMs;
    if (this.#openedMs !== null) this.#sink.closed();
    this.#onEnd(outcome, livedMs, this.#cause);
  }

  #open(): void {
    if (this.#hasEnded) return;
    this.#openedMs = performance.now();
    this.#heard();
    this.#sink.opened();
    this.#pings = setInterval(() => {
      if (performance.now() - this.#heardMs > this.#options.maxSilenceMs) this.end('silent');
      else this.#socket.ping();
    }, this.#options.pingIntervalMs);
  }

  #heard(): void {
    this.#heardMs = performance.now();
  }

  #take(data: RawData, isBinary: boolean): void {
    if (this.#hasEnded) return;
    try {
      // Text arrives as one buffer, for that is how the socket was made.
      if (isBinary || !Buffer.isBuffer(data) || !this.#sink.text(data.toString('utf8'))) {
        this.end('unreadable');
      }
    } catch (error) {
      // Whatever the other side sends must not be able to end the process.
      this.#cause = error;
      this.end('unreadable');
    }
  }
}
