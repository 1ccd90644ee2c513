import {
  averagePrice,
  canonicalDecimal,
  decimal,
  decimalText,
  isDecimalText,
} from '../../src/domain/decimal';

describe('decimals', () => {
  test.each([
    ['1', '1'],
    ['1.0', '1'],
    ['1.50', '1.5'],
    ['0.000000000000000001', '0.000000000000000001'],
    ['-0', '0'],
    ['-0.00', '0'],
    ['100', '100'],
    ['99999999999999999999.999999999999999999', '99999999999999999999.999999999999999999'],
  ])('%s has the one text %s', (given, canonical) => {
    expect(canonicalDecimal(given)).toBe(canonical);
  });

  test.each([
    '1e3',
    '+1',
    '.5',
    '1.',
    '01',
    '',
    ' 1',
    '0x1',
    'NaN',
    'Infinity',
    '1,5',
    '١',
    '123456789012345678901',
    '0.1234567890123456789',
  ])('%j is not accepted as a decimal', (text) => {
    expect(isDecimalText(text)).toBe(false);
  });

  test('a sum that a double would get wrong is exact', () => {
    expect(decimalText(decimal('0.1').plus(decimal('0.2')))).toBe('0.3');
    expect(decimalText(decimal('9007199254740993').plus(decimal('1')))).toBe('9007199254740994');
  });

  test('an average is rounded to 18 places, ties to even', () => {
    expect(decimalText(averagePrice(decimal('1'), decimal('3')))).toBe('0.333333333333333333');
    expect(decimalText(averagePrice(decimal('2'), decimal('3')))).toBe('0.666666666666666667');
    // Exactly half of the last place: down to the even 2, up to the even 4.
    expect(decimalText(averagePrice(decimal('0.000000000000000005'), decimal('2')))).toBe(
      '0.000000000000000002',
    );
    expect(decimalText(averagePrice(decimal('0.000000000000000007'), decimal('2')))).toBe(
      '0.000000000000000004',
    );
  });

  test('an average without a quantity is a fault of the program', () => {
    expect(() => averagePrice(decimal('1'), decimal('0'))).toThrow('an average needs a quantity');
  });
});
