import fc from 'fast-check';
import { decimal, type Decimal } from '../../src/domain/decimal';
import { fixedPointOf, fixedPointText, PRODUCT_PLACES } from '../../src/domain/fixed-point';
import type { Side } from '../../src/domain/order';
import type { Position, Trade } from '../../src/domain/position';

/** How many random sequences each law of the position is tried with. */
export const LAW_RUNS = 10_000;

/** Decimals with up to 18 places; the bounds are those of their digits without the point. */
export const decimalOf = (min: bigint, max: bigint): fc.Arbitrary<Decimal> =>
  fc
    .record({ scaled: fc.bigInt({ min, max }), places: fc.integer({ min: 0, max: 18 }) })
    .map(({ scaled, places }) => {
      const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, '0');
      const point = digits.length - places;
      const text = places === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
      return decimal(scaled < 0n ? `-${text}` : text);
    });

/** A trade as a venue reports it. */
export interface ReportedTrade {
  readonly side: Side;
  readonly quantity: Decimal;
  readonly price: Decimal;
}

export const aReportedTrade: fc.Arbitrary<ReportedTrade> = fc.record({
  side: fc.constantFrom('buy' as const, 'sell' as const),
  quantity: decimalOf(1n, 10n ** 12n),
  price: decimalOf(-(10n ** 9n), 10n ** 12n),
});

/** The same as the position sees it. */
export function tradeOf({ side, quantity, price }: ReportedTrade): Trade {
  const unsigned = fixedPointOf(quantity);
  return { quantity: side === 'buy' ? unsigned : -unsigned, price: fixedPointOf(price) };
}

export const aTrade: fc.Arbitrary<Trade> = aReportedTrade.map(tradeOf);

export interface ShownPosition {
  readonly quantity: string;
  readonly averagePrice: string | null;
  readonly realisedProfit: string;
}

/** A position in a form in which two can be compared. */
export const shown = (position: Position): ShownPosition => ({
  quantity: fixedPointText(position.quantity),
  averagePrice: position.averagePrice === null ? null : fixedPointText(position.averagePrice),
  realisedProfit: fixedPointText(position.realisedProfit, PRODUCT_PLACES),
});
