import { assert } from './assert';
import { MAX_FRACTION_DIGITS, type Decimal } from './decimal';

/**
 * Exact decimals as whole numbers of their last place, for the fold of positions: one old bust folds a hundred thousand
 * trades again, and integers do that several times faster than decimals of any length. Adding needs no alignment, and a
 * product has the places of both factors.
 */
export type FixedPoint = bigint;

/** Places of a quantity and of a price: `1.5` is 1_500_000_000_000_000_000n. */
export const PLACES = MAX_FRACTION_DIGITS;
/** Places of quantity times price. */
export const PRODUCT_PLACES = 2 * PLACES;

const DECIMAL_TEXT = /^-?\d+(?:\.\d+)?$/;
const POWERS = Array.from({ length: PRODUCT_PLACES + 1 }, (_, exponent) => 10n ** BigInt(exponent));

/**
 * Reads a decimal that a border has already checked, or that PostgreSQL wrote.
 * @throws {AssertionError} when the text is not plain decimal notation or has more places.
 */
export function fixedPoint(text: string, places = PLACES): FixedPoint {
  assert(DECIMAL_TEXT.test(text), () => `not a decimal: ${JSON.stringify(text)}`);
  const point = text.indexOf('.');
  const digits = point === -1 ? text : text.slice(0, point) + text.slice(point + 1);
  const missing = POWERS[point === -1 ? places : places - (text.length - point - 1)];
  assert(missing !== undefined, () => `more than ${places} places: ${JSON.stringify(text)}`);
  return BigInt(digits) * missing;
}

/** The same of a decimal that is computed with elsewhere. */
export function fixedPointOf(value: Decimal): FixedPoint {
  return fixedPoint(value.toFixed());
}

/** The one text of a value: no trailing zeros, no negative zero. */
export function fixedPointText(value: FixedPoint, places = PLACES): string {
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return `${sign}${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The whole number nearest to the quotient, of two that are equally near the even one. The divisor must not be zero. */
export function divideHalfEven(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  const rest = dividend % divisor;
  const twice = 2n * (rest < 0n ? -rest : rest);
  const whole = divisor < 0n ? -divisor : divisor;
  if (twice < whole || (twice === whole && quotient % 2n === 0n)) return quotient;
  return dividend < 0n === divisor < 0n ? quotient + 1n : quotient - 1n;
}
