import fc from 'fast-check';
import { parseStrictJson } from '../../src/http/strict-json';

const parse = (text: string): unknown => parseStrictJson(Buffer.from(text, 'utf8'));

/** Names that are easily mistaken: with quotes, colons, braces and backslashes, and few enough to meet. */
const name = fc.oneof(
  fc.constantFrom('a', 'b', '"', '\\', ':', '{', '}', '__proto__'),
  fc.string({ maxLength: 3 }),
);

describe('strict JSON', () => {
  test('reads every value that has no double members, and is not too deep, as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(parse(text))).toBe(text);
      }),
    );
  });

  test('refuses an object exactly when a name stands in it twice', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.jsonValue({ maxDepth: 2 })), { maxLength: 6 }), (members) => {
        const inner = members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join();
        const text = `{"list":[{${inner}},{${inner}}]}`;
        const double = new Set(members.map(([key]) => key)).size < members.length;
        if (double) expect(() => parse(text)).toThrow('stands more than once');
        else expect(parse(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });
});
