import { Big } from 'big.js';
import { assert } from './assert';

/**
 * Exact decimals. Quantities, prices and money are decimal **strings** at every border (JSON, Kafka, Temporal
 * payloads, PostgreSQL `numeric`) and `Decimal` values while they are computed with; a double never holds one.
 */
export type Decimal = Big;

/** Most digits before the point that a border accepts. */
export const MAX_INTEGER_DIGITS = 20;
/** Most digits after the point that a border accepts, and the places an average price is rounded to. */
export const MAX_FRACTION_DIGITS = 18;

// A constructor of our own: the rounding of this module cannot be changed by another user of the library.
const ExactBig = Big();
ExactBig.DP = MAX_FRACTION_DIGITS;
ExactBig.RM = Big.roundHalfEven;
ExactBig.strict = true;

const DECIMAL_TEXT = new RegExp(
  `^-?(?:0|[1-9]\\d{0,${MAX_INTEGER_DIGITS - 1}})(?:\\.\\d{1,${MAX_FRACTION_DIGITS}})?$`,
);

export const ZERO: Decimal = ExactBig('0');

/** True for plain decimal notation within the digit limits: no exponent, no plus sign, no leading zeros. */
export function isDecimalText(text: string): boolean {
  return DECIMAL_TEXT.test(text);
}

/**
 * Reads a decimal that a border has already checked, or that PostgreSQL wrote.
 * @throws {AssertionError} when the text is not plain decimal notation.
 */
export function decimal(text: string): Decimal {
  assert(/^-?\d+(?:\.\d+)?$/.test(text), () => `not a decimal: ${JSON.stringify(text)}`);
  return ExactBig(text);
}

/** The one text of a value: no exponent, no trailing zeros, no negative zero. `1.50` and `1.5` both give `1.5`. */
export function decimalText(value: Decimal): string {
  const text = value.toFixed();
  const trimmed = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return trimmed === '-0' ? '0' : trimmed;
}

/** The canonical text of a decimal text. */
export function canonicalDecimal(text: string): string {
  // Most texts are canonical as they come, and this is asked of every event: no value is made to find out.
  if (isDecimalText(text) && (text.includes('.') ? !text.endsWith('0') : text !== '-0')) return text;
  return decimalText(decimal(text));
}

/**
 * An order's average price = cost / quantity, 18 places, ties to even.
 * @throws {AssertionError} for a zero quantity; a flat position has no average.
 */
export function averagePrice(cost: Decimal, quantity: Decimal): Decimal {
  assert(!quantity.eq(ZERO), 'an average needs a quantity');
  return cost.div(quantity);
}
