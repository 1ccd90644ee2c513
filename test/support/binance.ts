import { readFileSync } from 'node:fs';
import type { DepthLevel, DepthSnapshot } from '../../src/quotes/binance-depth';
import { recordingPath } from './recordings';

/** A frame of the recording, as it came. */
export interface RecordedFrame {
  /** Milliseconds since 1970. */
  readonly arrivedMs: number;
  readonly text: string;
}

export interface RecordedSnapshot {
  readonly arrivedMs: number;
  readonly symbol: string;
  readonly text: string;
}

/** The symbols whose depth was recorded. */
export const RECORDED_SYMBOLS = ['NKNUSDT', 'BLZETH', 'LRCBTC', 'RUNEEUR'];

/** All frames of binance-spot.ws, in their order: depth, bookTicker and others. */
export function recordedFrames(): RecordedFrame[] {
  return linesOf('binance-spot.ws')
    .map((line) => /^(\d+\.\d+): (\{.*\})$/.exec(line))
    .filter((match) => match !== null)
    .map(([, seconds, text]) => ({ arrivedMs: Number(seconds) * 1_000, text: text! }));
}

export function recordedSnapshots(): RecordedSnapshot[] {
  return linesOf('binance-spot.http')
    .map((line) => /symbol=(\w+)&limit=1000 -> (\d+\.\d+): (\{.*\})$/.exec(line))
    .filter((match) => match !== null)
    .map(([, symbol, seconds, text]) => ({
      arrivedMs: Number(seconds) * 1_000,
      symbol: symbol!,
      text: text!,
    }));
}

function linesOf(file: string): string[] {
  return readFileSync(recordingPath(file), 'utf8').split('\n');
}

/**
 * A slow reading of a depth stream, written from the venue's rules and from nothing of ours: all quantities by their
 * text, and the best prices searched for each time.
 */
export class SlowDepth {
  readonly #bids = new Map<string, string>();
  readonly #asks = new Map<string, string>();
  lastUpdateId: number;

  constructor(snapshot: SlowSnapshot) {
    this.lastUpdateId = snapshot.lastUpdateId;
    this.#set(snapshot.bids, snapshot.asks);
  }

  /** Returns the best prices, or what is wrong with the event. */
  take(event: SlowEvent): { readonly bid: number; readonly ask: number } | 'old' | 'gap' {
    if (event.u <= this.lastUpdateId) return 'old';
    if (event.U > this.lastUpdateId + 1) return 'gap';
    this.lastUpdateId = event.u;
    this.#set(event.b, event.a);
    return {
      bid: Math.max(...[...this.#bids.keys()].map(Number)),
      ask: Math.min(...[...this.#asks.keys()].map(Number)),
    };
  }

  /** The whole book as it is now. */
  snapshot(): SlowSnapshot {
    return { lastUpdateId: this.lastUpdateId, bids: [...this.#bids], asks: [...this.#asks] };
  }

  #set(bids: SlowSnapshot['bids'], asks: SlowSnapshot['asks']): void {
    for (const [side, levels] of [
      [this.#bids, bids],
      [this.#asks, asks],
    ] as const) {
      for (const [price, quantity] of levels) {
        side.set(price, quantity);
        if (Number(quantity) === 0) side.delete(price);
      }
    }
  }
}

export interface SlowSnapshot {
  readonly lastUpdateId: number;
  readonly bids: readonly (readonly [string, string])[];
  readonly asks: readonly (readonly [string, string])[];
}

export interface SlowEvent {
  readonly s: string;
  readonly E: number;
  readonly U: number;
  readonly u: number;
  readonly b: readonly (readonly [string, string])[];
  readonly a: readonly (readonly [string, string])[];
}

/** The depth events of one symbol of the recording. */
export function recordedDepth(symbol: string): SlowEvent[] {
  return recordedFrames()
    .map(({ text }) => JSON.parse(text) as { readonly stream: string; readonly data: SlowEvent })
    .filter(({ stream }) => stream === depthStream(symbol))
    .map(({ data }) => data);
}

export function recordedSnapshot(symbol: string): SlowSnapshot {
  const snapshot = recordedSnapshots().find((recorded) => recorded.symbol === symbol)!;
  return JSON.parse(snapshot.text) as SlowSnapshot;
}

function depthStream(symbol: string): string {
  return `${symbol.toLowerCase()}@depth@100ms`;
}

/** A frame of the depth stream; with `pu` it is one of futures. */
export function depthFrame(event: Partial<SlowEvent> & { readonly u: number; readonly pu?: number }): string {
  const data = { e: 'depthUpdate', s: 'BTCUSDT', E: 1, U: event.u, b: [], a: [], ...event };
  return JSON.stringify({ stream: depthStream(data.s), data });
}

export function tickerFrame(ticker: { readonly u: number; readonly E: number; readonly b: string }): string {
  const data = { e: 'bookTicker', s: 'BTCUSDT', a: '1000000', B: '1', A: '1', ...ticker };
  return JSON.stringify({ stream: 'btcusdt@bookTicker', data });
}

export function asSnapshot({ lastUpdateId, bids, asks }: SlowSnapshot): DepthSnapshot {
  const numbers = (levels: SlowSnapshot['bids']): DepthLevel[] =>
    levels.map(([price, quantity]) => [Number(price), Number(quantity)]);
  return { lastUpdateId, bids: numbers(bids), asks: numbers(asks) };
}
