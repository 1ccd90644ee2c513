import { z } from 'zod';
import type { DepthEvent, DepthSnapshot } from './binance-depth';

/** Which of Binance's streams is listened to, and by whose rules its numbers run. */
export const BINANCE_STREAMS = ['spot-depth', 'futures-depth', 'futures-bookTicker'] as const;
export type BinanceStream = (typeof BINANCE_STREAMS)[number];

/** The best prices as the bookTicker stream states them: in full, under a number that only grows. */
export interface BookTicker {
  readonly updateId: number;
  readonly bid: number;
  readonly ask: number;
  readonly eventTimeMs: number;
}

export type BinanceFrame =
  | { readonly kind: 'depth'; readonly symbol: string; readonly event: DepthEvent }
  | { readonly kind: 'ticker'; readonly symbol: string; readonly ticker: BookTicker }
  /** Something that was not subscribed to, e.g. a notice of the server. */
  | { readonly kind: 'other' }
  /** `symbol` is null when the frame does not even say which stream it is of. */
  | { readonly kind: 'unread'; readonly symbol: string | null; readonly fault: 'json' | 'fields' };

const updateId = z.int().nonnegative();
const timeMs = z.int().positive();
const decimal = z
  .string()
  .regex(/^\d{1,20}(\.\d{1,20})?$/)
  .transform(Number);
const price = decimal.refine((value) => value > 0);
const levels = z.array(z.tuple([price, decimal]));

const envelope = z.object({ stream: z.string(), data: z.unknown() });
const depthBase = z.object({
  e: z.literal('depthUpdate'),
  E: timeMs,
  s: z.string(),
  U: updateId,
  u: updateId,
  b: levels,
  a: levels,
});
const depthOf = {
  'spot-depth': depthBase.transform((data) => depthEvent(data, data.U - 1)),
  'futures-depth': depthBase.extend({ pu: updateId }).transform((data) => depthEvent(data, data.pu)),
};
const ticker = z
  .object({ e: z.literal('bookTicker'), E: timeMs, s: z.string(), u: updateId, b: price, a: price })
  .transform(({ s, E, u, b, a }) => ({ symbol: s, ticker: { updateId: u, bid: b, ask: a, eventTimeMs: E } }));
const snapshot = z
  .object({ lastUpdateId: updateId, bids: levels, asks: levels })
  .transform((data): DepthSnapshot => data);

function depthEvent({ s, E, u, b, a }: z.output<typeof depthBase>, previousId: number) {
  const event: DepthEvent = { previousId, lastId: u, eventTimeMs: E, bids: b, asks: a };
  return { symbol: s, event, isForward: u > previousId };
}

/** What Binance calls the stream of a symbol. */
export function streamName(stream: BinanceStream, symbol: string): string {
  return `${symbol.toLowerCase()}@${stream === 'futures-bookTicker' ? 'bookTicker' : 'depth@100ms'}`;
}

/** Reads one text frame of a combined stream. `symbolOf`: the symbol of each stream that was subscribed to. */
export function readFrame(
  stream: BinanceStream,
  symbolOf: ReadonlyMap<string, string>,
  text: string,
): BinanceFrame {
  const json = parseJson(text);
  if (json === undefined) return { kind: 'unread', symbol: null, fault: 'json' };
  const outer = envelope.safeParse(json);
  const symbol = outer.success ? symbolOf.get(outer.data.stream) : undefined;
  if (!outer.success || symbol === undefined) return { kind: 'other' };
  return readData(stream, symbol, outer.data.data) ?? { kind: 'unread', symbol, fault: 'fields' };
}

function readData(stream: BinanceStream, symbol: string, data: unknown): BinanceFrame | undefined {
  if (stream === 'futures-bookTicker') {
    const read = ticker.safeParse(data);
    return read.success && read.data.symbol === symbol ? { kind: 'ticker', ...read.data } : undefined;
  }
  const read = depthOf[stream].safeParse(data);
  if (!read.success || read.data.symbol !== symbol || !read.data.isForward) return undefined;
  return { kind: 'depth', symbol, event: read.data.event };
}

/** Reads the answer of the REST interface; undefined when it is no snapshot. */
export function readSnapshot(text: string): DepthSnapshot | undefined {
  const read = snapshot.safeParse(parseJson(text));
  return read.success ? read.data : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
