import { decimal } from '../../src/domain/decimal';
import {
  divideHalfEven,
  fixedPoint,
  fixedPointOf,
  fixedPointText,
  PLACES,
  PRODUCT_PLACES,
} from '../../src/domain/fixed-point';

describe('a fixed-point number', () => {
  test.each([
    ['0', 0n, '0'],
    ['1', 10n ** 18n, '1'],
    ['-1.5', -15n * 10n ** 17n, '-1.5'],
    ['1.50', 15n * 10n ** 17n, '1.5'],
    ['0.000000000000000001', 1n, '0.000000000000000001'],
    ['-0.000000000000000001', -1n, '-0.000000000000000001'],
    ['-0.0', 0n, '0'],
    ['120', 120n * 10n ** 18n, '120'],
    ['99999999999999999999.999999999999999999', 10n ** 38n - 1n, '99999999999999999999.999999999999999999'],
  ])('of %s is %s, and its text is %s', (text, value, canonical) => {
    expect(fixedPoint(text)).toBe(value);
    expect(fixedPointOf(decimal(text))).toBe(value);
    expect(fixedPointText(value)).toBe(canonical);
  });

  test('of a product has the places of both factors', () => {
    const product = fixedPoint('1.000000000000000001') * fixedPoint('-1.000000000000000001');
    const text = '-1.000000000000000002000000000000000001';
    expect(fixedPointText(product, PRODUCT_PLACES)).toBe(text);
    expect(fixedPoint(text, PRODUCT_PLACES)).toBe(product);
  });

  test.each(['', '-', '.5', '1.', '1e3', '+1', ' 1', '0x10', 'NaN', 'Infinity', '1_000'])(
    'is not made of %j',
    (text) => {
      expect(() => fixedPoint(text)).toThrow(`not a decimal: ${JSON.stringify(text)}`);
    },
  );

  test('is not made of a text with more places than it has, not even of zeros', () => {
    const text = `1.${'0'.repeat(PLACES + 1)}`;
    expect(() => fixedPoint(text)).toThrow('more than 18 places: "1.0000000000000000000"');
    expect(fixedPoint(text, PRODUCT_PLACES)).toBe(10n ** 36n);
  });
});

describe('a division', () => {
  test.each([
    [7n, 2n, 4n],
    [5n, 2n, 2n],
    [-5n, 2n, -2n],
    [-7n, 2n, -4n],
    [5n, -2n, -2n],
    [-7n, -2n, 4n],
    [1n, 2n, 0n],
    [-1n, 2n, 0n],
    [3n, 2n, 2n],
    [-3n, 2n, -2n],
    [2n, 3n, 1n],
    [-2n, 3n, -1n],
    [1n, 3n, 0n],
    [-1n, -3n, 0n],
    [-2n, -3n, 1n],
    [6n, 3n, 2n],
    [0n, -3n, 0n],
  ])('of %s by %s gives the nearest, %s, and of two the even one', (dividend, divisor, quotient) => {
    expect(divideHalfEven(dividend, divisor)).toBe(quotient);
  });
});
