import { divideHalfEven, type FixedPoint } from './fixed-point';

/**
 * A netting position: one signed quantity per account and symbol.
 * `averagePrice` is null exactly when the quantity is zero.
 */
export interface Position {
  /** Above zero is long, below zero is short. 18 places. */
  readonly quantity: FixedPoint;
  /** 18 places. */
  readonly averagePrice: FixedPoint | null;
  /** In the currency of the price: the sum of (price − average) · closed quantity · sign. 36 places. */
  readonly realisedProfit: FixedPoint;
}

/** A trade as the position sees it; 18 places each. */
export interface Trade {
  /** Above zero buys, below zero sells; never zero. */
  readonly quantity: FixedPoint;
  readonly price: FixedPoint;
}

export const EMPTY_POSITION: Position = { quantity: 0n, averagePrice: null, realisedProfit: 0n };

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
  const { quantity: held, averagePrice: average, realisedProfit } = position;
  if (average === null) return { quantity: trade.quantity, averagePrice: trade.price, realisedProfit };
  return held > 0n === trade.quantity > 0n
    ? increase(held, average, realisedProfit, trade)
    : reduce(held, average, realisedProfit, trade);
}

function increase(held: FixedPoint, average: FixedPoint, realisedProfit: FixedPoint, trade: Trade): Position {
  const quantity = held + trade.quantity;
  const cost = held * average + trade.quantity * trade.price;
  // The only division: the average is rounded to its last place, ties to even.
  return { quantity, averagePrice: divideHalfEven(cost, quantity), realisedProfit };
}

function reduce(held: FixedPoint, average: FixedPoint, before: FixedPoint, trade: Trade): Position {
  const quantity = held + trade.quantity;
  const crossed = quantity !== 0n && quantity > 0n !== held > 0n;
  // The part of the old position that this trade closes, with the old position's sign.
  const closed = crossed ? held : -trade.quantity;
  const realisedProfit = before + (trade.price - average) * closed;
  if (quantity === 0n) return { quantity, averagePrice: null, realisedProfit };
  return { quantity, averagePrice: crossed ? trade.price : average, realisedProfit };
}
