import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GATE_CODES, gateVerdict } from '../../src/contracts/quote-gate';
import { silentLogger } from '../../src/observability/logger';
import { packageRoot } from '../../src/package-root';
import { startGateServer, type GateServer } from '../../src/quotes/gate-server';
import { aVerdict, FakeQuotes } from '../support/quote-source';

const page = readFileSync(join(packageRoot(), 'docs', 'quote-gate.md'), 'utf8');
const examples = [...page.matchAll(/```http\nGET (\S+)\n```\n\n```json\n(.*?)```/gs)].map(
  ([, path = '', body = '']) => [path, body] as const,
);

/** The moment that the examples show. */
const COMMON = {
  feed: 'fx',
  session: '4F1C09AA31',
  lost: '3',
  decidedAt: '2026-03-14T09:26:53.589Z',
} as const;
const quotes = new FakeQuotes(
  aVerdict('EURUSD', { ...COMMON, lastSequence: '48211' }),
  aVerdict('GBPUSD', {
    ...COMMON,
    verdict: 'closed',
    code: 'SUSPECT_QUOTE',
    reason: 'messages were lost or a session began, and the price has not been stated in full since',
    lastSequence: '48190',
    sourceAgeMs: 310,
    suspect: true,
    suspectSince: '2026-03-14T09:26:53.301Z',
    bid: 1.271,
    ask: 1.2712,
  }),
);
const unknown = aVerdict('XAUUSD', {
  ...COMMON,
  verdict: 'closed',
  code: 'NO_QUOTE',
  reason: 'no quote of XAUUSD has arrived',
  lastSequence: null,
  sourceAgeMs: null,
  bid: null,
  ask: null,
});
quotes.feedHealth = [
  {
    feed: COMMON.feed,
    session: COMMON.session,
    lost: COMMON.lost,
    lines: [
      { line: 'A', silenceMs: 12, alive: true },
      { line: 'B', silenceMs: 61_000, alive: false },
    ],
  },
];

describe('docs/quote-gate.md', () => {
  let server: GateServer;
  beforeAll(async () => {
    const source = {
      symbols: quotes.symbols,
      feeds: quotes.feeds,
      look: quotes.look,
      verdict: (symbol: string) => (symbol === 'XAUUSD' ? unknown : quotes.verdict(symbol)),
    };
    server = await startGateServer({ host: '127.0.0.1', port: 0 }, source, silentLogger());
  });
  afterAll(async () => {
    await server.close();
  });

  test('has an example of each kind', () => {
    expect(examples.map(([path]) => path.replace(/[?].*|\/EURUSD/, ''))).toEqual([
      '/v1/gate',
      '/v1/gate',
      '/v1/gate',
      '/v1/symbols',
    ]);
  });

  test.each(examples)('GET %s is answered as it says', async (path, body) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    expect(await response.json()).toEqual(JSON.parse(body));
  });

  test('explains each member of the evidence, and no other', () => {
    const table = page.split('### The evidence')[1]?.split('###')[0] ?? '';
    const rows = [...table.matchAll(/^\| (`[^|]+`)\s+\|/gm)];
    const members = rows.flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(members).toEqual(Object.keys(gateVerdict.shape));
  });

  test('explains each code, and no other', () => {
    const table = page.split('### The codes')[1]?.split('##')[0] ?? '';
    expect([...table.matchAll(/^\| `(\w+)`/gm)].map(([, code]) => code)).toEqual([...GATE_CODES]);
  });
});
