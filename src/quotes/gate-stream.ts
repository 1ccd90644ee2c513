import type { ServerResponse } from 'node:http';
import { setImmediate as othersHadTheirTurn } from 'node:timers/promises';
import type { Logger } from '../observability/logger';
import { BoardSnapshot } from './gate-board';
import type { BoardView } from './gate-query';
import type { QuoteSource } from './quote-source';

const INTERVAL_MS = 1_000;
const MAX_CLIENTS = 32;
/** A client whose last event has not left for so many intervals is not there any more, or not worth waiting for. */
const MAX_MISSED_EVENTS = 5;
/** After this a browser that lost its connection tries again. */
const RETRY_MS = 2_000;

interface Client {
  readonly response: ServerResponse;
  readonly view: BoardView;
  missed: number;
}

/**
 * Server-sent events for those who look on. One timer serves all of them and runs only while there is one. What is
 * buffered for a client is bounded by one event: the next is written when the last has left, and a client that does not
 * keep up is dropped.
 */
export class GateStream {
  readonly #source: QuoteSource;
  readonly #logger: Logger;
  readonly #intervalMs: number;
  readonly #clients = new Set<Client>();
  #timer: NodeJS.Timeout | undefined;
  #sending = false;

  constructor(source: QuoteSource, logger: Logger, intervalMs = INTERVAL_MS) {
    this.#source = source;
    this.#logger = logger;
    this.#intervalMs = intervalMs;
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** Takes a response over, or leaves it alone and gives false when there are too many. */
  add(response: ServerResponse, view: BoardView): boolean {
    if (this.#clients.size >= MAX_CLIENTS) return false;
    const client: Client = { response, view, missed: 0 };
    // Made before anything is promised: if this fails, the caller can still answer.
    const first = eventOf(new BoardSnapshot(this.#source), view);
    this.#clients.add(client);
    response.on('close', () => {
      this.#clients.delete(client);
      if (this.#clients.size === 0) this.#stop();
    });
    response.on('error', () => undefined);
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    response.write(`retry: ${RETRY_MS}\n\n${first}`);
    this.#timer ??= setInterval(() => {
      void this.#tick();
    }, this.#intervalMs);
    return true;
  }

  /** Ends every stream. */
  close(): void {
    this.#stop();
    for (const { response } of this.#clients) response.destroy();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #tick(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    try {
      await this.#send();
    } catch (error) {
      // Those who look on must never bring down what the orders wait for.
      this.#logger.error({ err: error }, 'the events of the page failed; those who watched are dropped');
      this.close();
    } finally {
      this.#sending = false;
    }
  }

  /** Many views of many symbols take a while: between two of them, orders get their answers. */
  async #send(): Promise<void> {
    const snapshot = new BoardSnapshot(this.#source);
    const events = new Map<string, string>();
    for (const client of [...this.#clients]) {
      await othersHadTheirTurn();
      if (client.response.destroyed) continue;
      if (client.response.writableLength > 0) {
        this.#miss(client);
        continue;
      }
      client.missed = 0;
      const key = JSON.stringify(client.view);
      const event = events.get(key) ?? eventOf(snapshot, client.view);
      events.set(key, event);
      client.response.write(event);
    }
  }

  #miss(client: Client): void {
    client.missed += 1;
    if (client.missed < MAX_MISSED_EVENTS) return;
    this.#logger.warn({ missed: client.missed }, 'a slow watcher of the page was dropped');
    client.response.destroy();
  }
}

function eventOf(snapshot: BoardSnapshot, view: BoardView): string {
  return `data: ${JSON.stringify(snapshot.view(view))}\n\n`;
}
