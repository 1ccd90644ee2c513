import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMetrics } from '../../src/observability/metrics';
import { packageRoot } from '../../src/package-root';
import { loadDecoder } from '../../src/quotes/load-decoder';
import { encodeMoldPacket } from '../../src/quotes/moldudp64';
import { QuoteBook } from '../../src/quotes/quote-book';
import { tekilQuoteDecoder } from '../../src/quotes/tekil-quote-message';
import { counted } from '../support/counted';
import { fakeClock } from '../support/fake-clock';

const EXAMPLE = join(packageRoot(), 'docs/examples/csv-decoder.cjs');

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'tekil-decoders-'))));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

let modules = 0;
/** The path of a module with this source. */
const moduleOf = (source: string): string => {
  modules += 1;
  const path = join(folder, `decoder-${modules}.js`);
  writeFileSync(path, source);
  return path;
};
/** A decoder whose `decode` has this body. */
const decoderOf = (body: string) =>
  loadDecoder(moduleOf(`exports.decoder = { faults: ['known'], decode: (message) => { ${body} } };`));

describe('the example of docs/quote-decoders.md', () => {
  const page = readFileSync(join(packageRoot(), 'docs/quote-decoders.md'), 'utf8');
  const vectors = [...page.matchAll(/^\| `([QFSX],[^`]*)` +\| `(\{.*\})` +\|$/gm)].map(
    ([, message = '', answer = '']) => [message, JSON.parse(answer) as unknown] as const,
  );
  const decoder = loadDecoder(EXAMPLE);

  test('has a vector for each of its faults and kinds', () => {
    const faults = vectors.map(([, answer]) => (answer as { fault?: string }).fault).filter(Boolean);
    expect(decoder.faults).toEqual([...faults, 'threw', 'unfit']);
    const kinds = vectors.map(([, answer]) => (answer as { kind: string }).kind);
    expect([...new Set(kinds)].toSorted()).toEqual(['no_quote', 'snapshot', 'tick', 'unread']);
  });

  test.each(vectors)('reads %s as it is shown', (message, answer) => {
    expect(decoder.decode(Buffer.from(message, 'latin1'))).toEqual(answer);
  });

  test('opens the gate, and an unread message of it closes it again', async () => {
    const clock = fakeClock(1_773_482_400_200);
    const metrics = createMetrics();
    const thresholds = { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 };
    const rules = { kind: 'full', heartbeatSequence: 'next' } as const;
    const book = new QuoteBook({ feed: 'csv', rules, thresholds, decoder, now: clock.now }, metrics);
    const send = (sequence: bigint, message: string): void => {
      book.receive(encodeMoldPacket('CSV', sequence, [Buffer.from(message)]));
    };
    send(1n, 'Q,EURUSD,1.0852,1.0854,1773482400123456');
    send(2n, 'S,the market is open');
    expect(book.verdict('EURUSD')).toMatchObject({ verdict: 'open', bid: 1.0852, ask: 1.0854 });
    send(3n, 'X,what is this?');
    expect(book.verdict('EURUSD')).toMatchObject({ code: 'SUSPECT_QUOTE' });
    expect(await counted(metrics.quoteTicks)).toEqual({ taken: 1, other: 1, unread_type: 1 });
  });
});

describe('QUOTE_DECODER', () => {
  test('is Tekil’s own message by its name', () => {
    expect(loadDecoder('tekil')).toBe(tekilQuoteDecoder);
  });

  test('may be a path from the working directory', () => {
    expect(loadDecoder('docs/examples/csv-decoder.cjs').faults).toContain('fields');
  });

  test('must be the path of a module that is there', () => {
    expect(() => loadDecoder('./no-such-decoder.js')).toThrow(
      /^QUOTE_DECODER must be "tekil" or the path of a module; .*no-such-decoder\.js cannot be loaded: /,
    );
  });

  test.each<[string, string]>([
    ['exports.other = 1', 'as an object { faults, decode }'],
    ['module.exports = null', 'as an object { faults, decode }'],
    ['exports.decoder = { faults: [] }', 'with a function decode(message)'],
    ['exports.decoder = { decode() {} }', 'with a list of at most 16 faults'],
    ['exports.decoder = { faults: ["a b"], decode() {} }', 'with a list of at most 16 faults'],
    ['exports.decoder = { faults: Array(17).fill("f"), decode() {} }', 'with a list of at most 16 faults'],
    ['exports.decoder = { faults: ["threw"], decode() {} }', 'without the fault "threw"'],
  ])('must export a decoder: %s', (source, right) => {
    const path = moduleOf(source);
    expect(() => loadDecoder(path)).toThrow(`QUOTE_DECODER: ${path} must export "decoder" ${right}`);
  });

  test('must be a module that can be run', () => {
    expect(() => loadDecoder(moduleOf('throw new Error("out of order")'))).toThrow(/out of order$/);
  });
});

describe('a foreign decoder', () => {
  const quote = "kind: 'tick', symbol: 'EURUSD', bid: 1, ask: 2, sourceTimeMs: 3";

  test('is believed when its answer fits', () => {
    const { decode } = decoderOf(`return { ${quote} }`);
    expect(decode(Buffer.alloc(1))).toEqual({
      kind: 'tick',
      symbol: 'EURUSD',
      bid: 1,
      ask: 2,
      sourceTimeMs: 3,
    });
    expect(decoderOf("return { kind: 'unread', fault: 'known' }").decode(Buffer.alloc(1))).toEqual({
      kind: 'unread',
      fault: 'known',
    });
  });

  test('may be an object of a class', () => {
    const path = moduleOf(`
      class Mine {
        faults = [];
        tick = { ${quote} };
        decode() { return this.tick; }
      }
      exports.decoder = new Mine();
    `);
    expect(loadDecoder(path).decode(Buffer.alloc(1))).toMatchObject({ kind: 'tick' });
  });

  test('may throw, and the message is unread', () => {
    expect(decoderOf('return message.readUInt32BE(9)').decode(Buffer.alloc(1))).toEqual({
      kind: 'unread',
      fault: 'threw',
    });
  });

  test.each([
    'return undefined',
    "return 'tick'",
    'return Promise.resolve({})',
    "return { kind: 'quote' }",
    "return { kind: 'unread' }",
    "return { kind: 'unread', fault: 'EURUSD' }",
    `return { ${quote}, symbol: 'eurusd' }`,
    `return { ${quote}, symbol: undefined }`,
    `return { ${quote}, bid: NaN }`,
    `return { ${quote}, ask: '2' }`,
    `return { ${quote}, sourceTimeMs: Infinity }`,
    `return { ${quote}, sourceTimeMs: 3n }`,
  ])('that answers otherwise has read nothing: %s', (body) => {
    expect(decoderOf(body).decode(Buffer.alloc(1))).toEqual({ kind: 'unread', fault: 'unfit' });
  });
});
