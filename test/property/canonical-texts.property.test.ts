import fc from 'fast-check';
import { canonicalDecimal, decimal, decimalText, isDecimalText } from '../../src/domain/decimal';
import { canonicalTimestamp } from '../../src/domain/timestamp';

const RUNS = 10_000;

/** A decimal as a border takes it, canonical or not. */
const decimalTexts = fc
  .tuple(
    fc.boolean(),
    fc.bigInt({ min: 0n, max: 10n ** 20n - 1n }),
    fc.option(fc.stringMatching(/^[0-9]{1,18}$/), { nil: undefined }),
  )
  .map(([negative, whole, fraction]) => {
    const text = fraction === undefined ? whole.toString() : `${whole}.${fraction}`;
    return negative ? `-${text}` : text;
  });

const pad = (value: number, length = 2): string => String(value).padStart(length, '0');

/** One instant, written in a zone and with trailing zeros in its fraction. */
const writings = fc.record({
  ms: fc.integer({ min: Date.UTC(1970, 0, 3), max: Date.UTC(9999, 11, 29) }),
  nanoseconds: fc.stringMatching(/^[0-9]{0,6}$/),
  offsetMinutes: fc.integer({ min: -23 * 60, max: 23 * 60 }),
  zeros: fc.integer({ min: 0, max: 3 }),
});

function written(at: number, nanoseconds: string, zone: string): string {
  const text = new Date(at).toISOString();
  return `${text.slice(0, 19)}.${text.slice(20, 23)}${nanoseconds}${zone}`;
}

describe('the one text of a value', () => {
  test('of a decimal is what its value is written as', () => {
    fc.assert(
      fc.property(decimalTexts, (text) => {
        expect(isDecimalText(text)).toBe(true);
        expect(canonicalDecimal(text)).toBe(decimalText(decimal(text)));
      }),
      { numRuns: RUNS },
    );
  });

  test('of an instant does not depend on the zone or on trailing zeros', () => {
    fc.assert(
      fc.property(writings, ({ ms, nanoseconds, offsetMinutes, zeros }) => {
        const sign = offsetMinutes < 0 ? '-' : '+';
        const minutes = Math.abs(offsetMinutes);
        const zone = `${sign}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
        const padded = nanoseconds.padEnd(Math.min(6, nanoseconds.length + zeros), '0');
        const local = written(ms + offsetMinutes * 60_000, padded, zone);
        const canonical = canonicalTimestamp(written(ms, nanoseconds, 'Z'));
        expect(canonicalTimestamp(local)).toBe(canonical);
        expect(canonicalTimestamp(canonical ?? '')).toBe(canonical);
        expect(Date.parse(canonical ?? '')).toBe(ms);
        expect(canonical).toMatch(/^[^.]+(\.\d*[1-9])?Z$/);
      }),
      { numRuns: RUNS },
    );
  });

  test('is not given to a day or an hour that does not exist', () => {
    const existing = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z$/;
    const part = (max: number) => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(part(9_999), part(14), part(33), part(25), part(61), part(61), (y, mo, d, h, mi, s) => {
        const text = `${pad(y, 4)}-${pad(mo)}-${pad(d)}T${pad(h)}:${pad(mi)}:${pad(s)}Z`;
        const date = new Date(0);
        date.setUTCFullYear(y, mo - 1, d);
        date.setUTCHours(h, mi, s);
        const same = date.toISOString().replace('.000Z', 'Z') === text;
        expect(existing.test(text)).toBe(true);
        expect(canonicalTimestamp(text)).toBe(same && y >= 1970 ? text : undefined);
      }),
      { numRuns: RUNS },
    );
  });
});
