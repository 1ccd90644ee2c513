import fc from 'fast-check';
import { decimal, decimalText, type Decimal } from '../../src/domain/decimal';
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

export const aTrade: fc.Arbitrary<Trade> = fc.record({
  side: fc.constantFrom('buy' as const, 'sell' as const),
  quantity: decimalOf(1n, 10n ** 12n),
  price: decimalOf(-(10n ** 9n), 10n ** 12n),
});

export interface ShownPosition {
  readonly quantity: string;
  readonly averagePrice: string | null;
  readonly realisedProfit: string;
}

/** A position in a form in which two can be compared. */
export const shown = (position: Position): ShownPosition => ({
  quantity: decimalText(position.quantity),
  averagePrice: position.averagePrice === null ? null : decimalText(position.averagePrice),
  realisedProfit: decimalText(position.realisedProfit),
});
