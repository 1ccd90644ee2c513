import { averagePrice, decimalText, ZERO, type Decimal } from '../../src/domain/decimal';
import type { ReportedTrade, ShownPosition } from './trades';

interface Fold {
  readonly held: Decimal;
  readonly average: Decimal | undefined;
  readonly realised: Decimal;
}

/**
 * The position of reported trades by another road than the product's: in decimals of any length, and each trade is
 * first split into the part that closes and the part that opens.
 */
export function foldReported(sequence: readonly ReportedTrade[]): ShownPosition {
  let fold: Fold = { held: ZERO, average: undefined, realised: ZERO };
  for (const trade of sequence) {
    const against = trade.side === 'buy' ? fold.held.lt(ZERO) : fold.held.gt(ZERO);
    const closing = against ? least(fold.held.abs(), trade.quantity) : ZERO;
    fold = open(close(fold, trade, closing), trade, trade.quantity.minus(closing));
  }
  return {
    quantity: decimalText(fold.held),
    averagePrice: fold.average === undefined ? null : decimalText(fold.average),
    realisedProfit: decimalText(fold.realised),
  };
}

function close({ held, average, realised }: Fold, { side, price }: ReportedTrade, quantity: Decimal): Fold {
  if (average === undefined) return { held, average, realised };
  const gain = held.gt(ZERO) ? price.minus(average) : average.minus(price);
  const left = moved(held, side, quantity);
  return {
    held: left,
    average: left.eq(ZERO) ? undefined : average,
    realised: realised.plus(gain.times(quantity)),
  };
}

function open({ held, average, realised }: Fold, { side, price }: ReportedTrade, quantity: Decimal): Fold {
  if (quantity.eq(ZERO)) return { held, average, realised };
  const cost = held
    .abs()
    .times(average ?? ZERO)
    .plus(quantity.times(price));
  return {
    held: moved(held, side, quantity),
    average: averagePrice(cost, held.abs().plus(quantity)),
    realised,
  };
}

function moved(held: Decimal, side: ReportedTrade['side'], quantity: Decimal): Decimal {
  return side === 'buy' ? held.plus(quantity) : held.minus(quantity);
}

function least(a: Decimal, b: Decimal): Decimal {
  return a.lt(b) ? a : b;
}
