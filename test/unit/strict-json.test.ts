import { MAX_DEPTH, parseStrictJson } from '../../src/http/strict-json';

const parse = (text: string): unknown => parseStrictJson(Buffer.from(text, 'utf8'));

describe('strict JSON', () => {
  test.each([
    '{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}',
    '{"a":"a","b":"a","c":"\\"a\\":"}',
    '{"a\\\\":1,"a":2}',
    '{"a:":1,"a":"{\\"a\\":[}"}',
    '["a","a",{"a":":"}]',
    '{"__proto__":1,"constructor":2}',
    ' \n\t{ "a" : 1 , "b" : "\u2028" } ',
    '"text"',
    '1.50',
    'null',
  ])('%s is read as JSON.parse reads it', (text) => {
    expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text)));
  });

  test.each([
    ['{"a":1,"a":1}', '"a"'],
    ['{"a":1,"b":2,"a":{}}', '"a"'],
    ['{"x":[{"b":{"k":1,"k":2}}]}', '"k"'],
    ['{"a":1,"\\u0061":2}', '"a"'],
    ['{"":1,"":2}', '""'],
    ['{"\\"":1,"\\"":2}', '"\\""'],
    ['{"a\\\\":1,"a\\\\":2}', '"a\\\\"'],
    ['{"__proto__":1,"__proto__":1}', '"__proto__"'],
    ['{"a":"\\\\","a":1}', '"a"'],
  ])('%s is refused for the member %s', (text, name) => {
    expect(() => parse(text)).toThrow(`the member ${name} stands more than once`);
  });

  test.each(['', '{', '{"a":01}', "{'a':1}", '{"a":1,}', 'undefined', '{"a":NaN}', '\u0000'])(
    '%j is not JSON',
    (text) => {
      expect(() => parse(text)).toThrow('the body is not acceptable JSON');
    },
  );

  test('bytes that are not UTF-8 are refused, not replaced', () => {
    expect(() => parseStrictJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow('it is not UTF-8');
    // Half of a surrogate pair, as some encoders write it.
    expect(() => parseStrictJson(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toThrow('it is not UTF-8');
  });

  test('nesting has a bound', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect(parse(nested(MAX_DEPTH))).toBeInstanceOf(Array);
    expect(() => parse(nested(MAX_DEPTH + 1))).toThrow(`deeper than ${MAX_DEPTH} levels`);
  });

  test('a body of quotes and backslashes takes time in proportion to its length', () => {
    const text = JSON.stringify({ a: '\\"'.repeat(500_000) });
    const startedAt = performance.now();
    parse(text);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
