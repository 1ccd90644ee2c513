import type { Logger } from '../observability/logger';
import type { DepthSnapshot } from './binance-depth';
import { readSnapshot } from './binance-messages';

export interface SnapshotQueueOptions {
  readonly urlOf: (symbol: string) => string;
  readonly timeoutMs: number;
  /** Between two requests, whatever they are for. */
  readonly minIntervalMs: number;
}

export interface SnapshotSink {
  /** Asked right before a request is made, and when it has been answered. */
  readonly isWanted: (symbol: string) => boolean;
  readonly loaded: (symbol: string, snapshot: DepthSnapshot) => void;
  readonly ended: (outcome: SnapshotOutcome) => void;
}

export type SnapshotOutcome =
  'loaded' | 'not_needed' | 'rate_limited' | 'refused' | 'too_large' | 'unreadable' | 'timeout' | 'failed';

/** A thousand levels of each side take about 70 kB. */
export const MAX_SNAPSHOT_BYTES = 2 * 1024 * 1024;
/** The longest wait after failures. */
const MAX_BACKOFF_MS = 30_000;
/** Whoever is told to stay away for longer asks again after this. */
const MAX_RETRY_AFTER_MS = 3_600_000;
const RATE_LIMIT_STATUSES = [418, 429];

/**
 * Fetches snapshots one after another, each symbol's at most once at a time, and never faster than is allowed. After
 * a failure it waits longer each time, and for as long as the server says.
 */
export class SnapshotQueue {
  readonly #options: SnapshotQueueOptions;
  readonly #sink: SnapshotSink;
  readonly #logger: Logger;
  readonly #closing = new AbortController();
  /** In the order in which they were asked for; at most one entry a symbol. */
  readonly #wanted = new Set<string>();
  #isBusy = false;
  #timer: NodeJS.Timeout | undefined;
  #notBeforeMs = 0;
  /** Requests in a row that brought nothing. */
  #failures = 0;

  constructor(options: SnapshotQueueOptions, sink: SnapshotSink, logger: Logger) {
    this.#options = options;
    this.#sink = sink;
    this.#logger = logger;
  }

  /** Cheap: it may be called with every message that waits. */
  want(symbol: string): void {
    this.#wanted.add(symbol);
    this.#arm();
  }

  close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    this.#wanted.clear();
    return Promise.resolve();
  }

  #arm(): void {
    if (this.#isBusy || this.#wanted.size === 0 || this.#closing.signal.aborted) return;
    this.#isBusy = true;
    this.#timer = setTimeout(
      () => {
        void this.#fetchNext();
      },
      Math.max(0, this.#notBeforeMs - performance.now()),
    );
  }

  async #fetchNext(): Promise<void> {
    const symbol = [...this.#wanted].find((candidate) => this.#sink.isWanted(candidate));
    if (symbol === undefined) this.#wanted.clear();
    else {
      this.#wanted.delete(symbol);
      this.#notBeforeMs = performance.now() + this.#options.minIntervalMs;
      const outcome = await this.#fetch(symbol);
      if (this.#closing.signal.aborted) return;
      this.#sink.ended(outcome);
      this.#backOff(symbol, outcome);
      if (this.#sink.isWanted(symbol)) this.#wanted.add(symbol);
    }
    this.#isBusy = false;
    this.#arm();
  }

  async #fetch(symbol: string): Promise<SnapshotOutcome> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs);
    try {
      const signal = AbortSignal.any([timeout, this.#closing.signal]);
      const response = await fetch(this.#options.urlOf(symbol), { signal, redirect: 'error' });
      if (!response.ok) return await this.#refusal(response);
      const text = await boundedText(response);
      const snapshot = text === undefined ? undefined : readSnapshot(text);
      if (snapshot === undefined) return text === undefined ? 'too_large' : 'unreadable';
      if (!this.#sink.isWanted(symbol)) return 'not_needed';
      this.#sink.loaded(symbol, snapshot);
      return 'loaded';
    } catch (error) {
      if (!this.#closing.signal.aborted) {
        this.#logger.warn({ err: error, symbol }, 'a snapshot could not be fetched');
      }
      return timeout.aborted ? 'timeout' : 'failed';
    }
  }

  async #refusal(response: Response): Promise<SnapshotOutcome> {
    await response.body?.cancel();
    this.#logger.warn({ status: response.status, url: response.url }, 'a snapshot was refused');
    if (!RATE_LIMIT_STATUSES.includes(response.status)) return 'refused';
    const seconds = Number(response.headers.get('retry-after') ?? '');
    const waitMs = Number.isFinite(seconds) ? Math.min(MAX_RETRY_AFTER_MS, Math.max(0, seconds) * 1_000) : 0;
    this.#notBeforeMs = performance.now() + Math.max(this.#options.minIntervalMs, waitMs);
    return 'rate_limited';
  }

  #backOff(symbol: string, outcome: SnapshotOutcome): void {
    if (outcome === 'loaded' || outcome === 'not_needed') {
      this.#failures = 0;
      return;
    }
    this.#failures += 1;
    const grown = this.#options.minIntervalMs * 2 ** Math.min(this.#failures, 16);
    const waitMs = Math.min(MAX_BACKOFF_MS, grown);
    this.#notBeforeMs = Math.max(this.#notBeforeMs, performance.now() + waitMs);
    this.#logger.warn({ symbol, outcome, waitMs }, 'the book stays without a snapshot for now');
  }
}

/** Undefined when there is more than is read. */
async function boundedText(response: Response): Promise<string | undefined> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_SNAPSHOT_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
