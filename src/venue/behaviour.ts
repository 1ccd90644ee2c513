import { z } from 'zod';
import { decimalField, symbolField } from '../contracts/fields';

const delayMs = z.number().int().min(0).max(600_000);

/**
 * How the simulated venue treats an order. An order keeps what it began with; `cancel` and `statusRequest` are read when
 * such a command arrives.
 */
export const venueBehaviour = z.strictObject({
  /** `fill`: in pieces. `rest`: stay open until cancelled. `reject`: refuse. */
  order: z.enum(['fill', 'rest', 'reject']).default('fill'),
  /** False drops the acknowledgement (NEW); the order is worked all the same. */
  acknowledge: z.boolean().default(true),
  /** In how many pieces an order is cut. */
  pieces: z.number().int().min(1).max(20_000).default(1),
  /** How many of the pieces are filled; the rest stays open. All of them when left out. */
  filledPieces: z.number().int().min(0).max(20_000).optional(),
  acknowledgeAfterMs: delayMs.default(20),
  /** Before each piece. */
  fillAfterMs: delayMs.default(20),
  /** How often each execution is published. */
  copies: z.number().int().min(1).max(100).default(1),
  /** Publish an order's executions in reverse, when the last one has happened. */
  reverse: z.boolean().default(false),
  /** `reject` refuses it; `ignore` leaves it without effect and without an answer. */
  cancel: z.enum(['honour', 'reject', 'ignore']).default('honour'),
  /** `ignore` leaves a STATUS_REQUEST without an answer. */
  statusRequest: z.enum(['answer', 'ignore']).default('answer'),
  /** The price of fills, instead of the limit price or the last price of the feed. */
  price: decimalField.optional(),
});

export type VenueBehaviour = z.output<typeof venueBehaviour>;

/** What the control API takes and gives: a behaviour for all symbols, and exceptions. */
export const behaviourBook = z.strictObject({
  default: venueBehaviour.default(venueBehaviour.parse({})),
  symbols: z.record(symbolField, venueBehaviour).default({}),
});

export type BehaviourBook = z.output<typeof behaviourBook>;

export function behaviourFor(book: BehaviourBook, symbol: string): VenueBehaviour {
  return book.symbols[symbol] ?? book.default;
}
