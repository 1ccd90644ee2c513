import type { OrderKey } from './ids';

export const SIDES = ['buy', 'sell'] as const;
export const ORDER_TYPES = ['market', 'limit'] as const;
export const TIMES_IN_FORCE = ['gtc', 'day', 'ioc', 'fok', 'gtd'] as const;

export type Side = (typeof SIDES)[number];
export type OrderType = (typeof ORDER_TYPES)[number];
export type TimeInForce = (typeof TIMES_IN_FORCE)[number];

/** What a client asks for, normalised: decimals canonical, `expireAt` canonical UTC. */
export interface OrderRequest extends OrderKey {
  readonly symbol: string;
  readonly side: Side;
  /** Decimal text in units of the symbol, above zero. */
  readonly quantity: string;
  readonly type: OrderType;
  /** Decimal text; present exactly when `type` is `limit`. May be negative: spreads and energy trade below zero. */
  readonly limitPrice?: string;
  readonly timeInForce: TimeInForce;
  /** RFC 3339 UTC; present exactly when `timeInForce` is `gtd`. */
  readonly expireAt?: string;
}

/** One line for people: `buy 10 EURUSD limit 1.0845`. */
export function orderSummary(request: OrderRequest): string {
  const limit = request.limitPrice === undefined ? '' : ` limit ${request.limitPrice}`;
  return `${request.side} ${request.quantity} ${request.symbol}${limit}`;
}
