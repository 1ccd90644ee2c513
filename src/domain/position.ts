import { averagePrice, ZERO, type Decimal } from './decimal';
import type { Side } from './order';

/**
 * A netting position: one signed quantity per account and symbol.
 * `averagePrice` is null exactly when the quantity is zero.
 */
export interface Position {
  /** Above zero is long, below zero is short. */
  readonly quantity: Decimal;
  readonly averagePrice: Decimal | null;
  /** In the currency of the price: the sum of (price − average) · closed quantity · sign. */
  readonly realisedProfit: Decimal;
}

/** A trade as the position sees it. */
export interface Trade {
  readonly side: Side;
  /** Above zero. */
  readonly quantity: Decimal;
  readonly price: Decimal;
}

export const EMPTY_POSITION: Position = { quantity: ZERO, averagePrice: null, realisedProfit: ZERO };

/** The position after every trade, in the order in which they were applied. */
export function foldTrades(trades: Iterable<Trade>, from: Position = EMPTY_POSITION): Position {
  let position = from;
  for (const trade of trades) position = applyTrade(position, trade);
  return position;
}

/**
 * The position after one trade. Increase: the average moves. Reduce: the average stays, profit is realised.
 * Through zero: the closing part realises, the rest opens at the trade's price. Flat: no average.
 */
export function applyTrade(position: Position, trade: Trade): Position {
  const signed = trade.side === 'buy' ? trade.quantity : trade.quantity.neg();
  const held = position.averagePrice;
  if (held === null) return { ...position, quantity: signed, averagePrice: trade.price };
  return position.quantity.s === signed.s
    ? increase(position, held, signed, trade.price)
    : reduce(position, held, signed, trade.price);
}

function increase(position: Position, held: Decimal, signed: Decimal, price: Decimal): Position {
  const quantity = position.quantity.plus(signed);
  const cost = position.quantity.times(held).plus(signed.times(price));
  return { ...position, quantity, averagePrice: averagePrice(cost, quantity) };
}

function reduce(position: Position, held: Decimal, signed: Decimal, price: Decimal): Position {
  const quantity = position.quantity.plus(signed);
  const crossed = !quantity.eq(ZERO) && quantity.s !== position.quantity.s;
  // The part of the old position that this trade closes, with the old position's sign.
  const closed = crossed ? position.quantity : signed.neg();
  const realisedProfit = position.realisedProfit.plus(price.minus(held).times(closed));
  if (quantity.eq(ZERO)) return { quantity: ZERO, averagePrice: null, realisedProfit };
  return { quantity, averagePrice: crossed ? price : held, realisedProfit };
}
