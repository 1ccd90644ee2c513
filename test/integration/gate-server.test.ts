import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { connect } from 'node:net';
import { createContext, Script } from 'node:vm';
import pino from 'pino';
import { gateBoard, gateVerdicts, type GateBoard } from '../../src/contracts/quote-gate';
import { startGateServer, type GateServer } from '../../src/quotes/gate-server';
import { aClosedVerdict, aVerdict, FakeQuotes } from '../support/quote-source';
import { waitFor } from '../support/wait-for';

const HOST = '127.0.0.1';
const INTERVAL_MS = 20;

describe('the gate’s server', () => {
  let server: GateServer | undefined;
  const aborts: AbortController[] = [];
  afterEach(async () => {
    for (const abort of aborts.splice(0)) abort.abort();
    await server?.close();
  });

  const setup = async (quotes: FakeQuotes, level = 'silent') => {
    const lines: Record<string, unknown>[] = [];
    const logger = pino(
      { level },
      { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
    );
    server = await startGateServer({ host: HOST, port: 0, streamIntervalMs: INTERVAL_MS }, quotes, logger);
    const { port } = server;
    const url = `http://${HOST}:${port}`;
    const json = async (path: string) => {
      const response = await fetch(`${url}${path}`);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    /** Reads a stream in the background; every event is parsed as the contract says. */
    const watch = async (query = '') => {
      const abort = new AbortController();
      aborts.push(abort);
      const response = await fetch(`${url}/v1/stream${query}`, { signal: abort.signal });
      const boards: GateBoard[] = [];
      const reading = (async () => {
        let text = '';
        for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
          const parts = (text + chunk).split('\n\n');
          text = parts.pop() ?? '';
          for (const part of parts.filter((each) => each.startsWith('data: '))) {
            boards.push(gateBoard.parse(JSON.parse(part.slice('data: '.length))));
          }
        }
      })();
      const ended = reading.then(
        () => 'ended',
        () => 'broken',
      );
      return {
        response,
        boards,
        ended,
        stop: () => {
          abort.abort();
        },
      };
    };
    return { url, port, lines, json, watch };
  };
  const many = (count: number) =>
    new FakeQuotes(
      ...Array.from({ length: count }, (_, index) => aVerdict(`S${String(index).padStart(5, '0')}`)),
    );

  describe('answers for several symbols at once', () => {
    test('with one verdict for each, in the order in which they were asked for, a repeat once', async () => {
      const quotes = new FakeQuotes(
        aVerdict('EUR/USD'),
        aClosedVerdict('GBPUSD', 'STALE_QUOTE', 'stale quote: 1240 ms'),
      );
      const { json } = await setup(quotes);
      const { body } = await json('/v1/gate?symbol=GBPUSD&symbol=EUR%2FUSD&symbol=XAUUSD&symbol=GBPUSD');
      const { verdicts } = gateVerdicts.parse(body);
      expect(verdicts.map(({ symbol, code }) => [symbol, code])).toEqual([
        ['GBPUSD', 'STALE_QUOTE'],
        ['EUR/USD', undefined],
        ['XAUUSD', 'NO_QUOTE'],
      ]);
      expect(quotes.verdicts).toEqual(['GBPUSD', 'EUR/USD', 'XAUUSD']);
    });

    const hundred = Array.from({ length: 100 }, (_, index) => `symbol=S${index}`).join('&');
    test('up to a hundred of them', async () => {
      const { json } = await setup(new FakeQuotes());
      expect((await json(`/v1/gate?${hundred}`)).body['verdicts']).toHaveLength(100);
    });

    test.each([
      ['name at least one symbol: /v1/gate?symbol=EURUSD', '/v1/gate'],
      ['symbol: ask for at most 100 symbols at once, not 101', `/v1/gate?${hundred}&symbol=ONEMORE`],
      ['symbol: each must have 1 to 64 characters', '/v1/gate?symbol='],
      ['symbol: each must have 1 to 64 characters', `/v1/gate?symbol=${'A'.repeat(65)}`],
      ['symbols is not known here, only symbol', '/v1/gate?symbols=EURUSD'],
      ['limit: must be a whole number from 1 to 200', '/v1/symbols?limit=0'],
      ['limit: must be a whole number from 1 to 200', '/v1/symbols?limit=201'],
      ['limit: must be a whole number from 1 to 200', '/v1/symbols?limit=1e2'],
      ['filter: must have at most 64 characters', `/v1/symbols?filter=${'A'.repeat(65)}`],
      ['page is not known here, only filter, after, limit', '/v1/stream?page=2'],
    ])('and says what would be right: %s', async (detail, path) => {
      const { json } = await setup(new FakeQuotes());
      expect(await json(path)).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', detail } });
    });

    test('and calls no symbol what is longer than any', async () => {
      const { json } = await setup(new FakeQuotes());
      const { status, body } = await json(`/v1/gate/${'A'.repeat(65)}`);
      expect([status, body['code']]).toEqual([400, 'INVALID_PATH']);
    });
  });

  describe('logs what orders rest on', () => {
    const quotes = () =>
      new FakeQuotes(aVerdict('EURUSD'), aClosedVerdict('GBPUSD', 'STALE_QUOTE', 'stale quote: 1240 ms'));

    test('a refusal as one line with its evidence, an open gate only for those who want to know', async () => {
      const source = quotes();
      const { json, lines } = await setup(source, 'info');
      await json('/v1/gate/EURUSD');
      await json('/v1/gate/GBPUSD');
      expect(lines).toMatchObject([
        { level: 30, msg: 'the gate is closed', quote: source.quotes.get('GBPUSD') },
      ]);
    });

    test('both at debug', async () => {
      const { json, lines } = await setup(quotes(), 'debug');
      await json('/v1/gate?symbol=EURUSD&symbol=GBPUSD');
      expect(lines.map(({ msg }) => msg)).toEqual(['the gate is open', 'the gate is closed']);
    });

    test('and neither logs nor counts a mere look', async () => {
      const source = quotes();
      const { json, lines, watch } = await setup(source, 'debug');
      await json('/v1/symbols');
      const { boards } = await watch();
      await waitFor('two events', () => boards.length >= 2);
      expect(lines).toEqual([]);
      expect(source.verdicts).toEqual([]);
    });
  });

  describe('shows what is known', () => {
    test('each symbol with its state, and the lines of each feed', async () => {
      const quotes = new FakeQuotes(aVerdict('EURUSD'), aClosedVerdict('GBPUSD', 'NO_QUOTE', 'none'));
      const { json } = await setup(quotes);
      const { body } = await json('/v1/symbols');
      expect(gateBoard.parse(body)).toEqual({
        feeds: quotes.feedHealth,
        symbols: [...quotes.quotes.values()],
        matching: 2,
        next: null,
      });
    });

    test('in parts that together are all of it, each symbol once', async () => {
      const { json } = await setup(many(450));
      const seen: string[] = [];
      let after = '';
      for (;;) {
        const { symbols, matching, next } = gateBoard.parse(
          (await json(`/v1/symbols?limit=200&after=${after}`)).body,
        );
        expect(matching).toBe(450);
        seen.push(...symbols.map(({ symbol }) => symbol));
        if (next === null) break;
        after = next;
      }
      expect(seen).toEqual(many(450).symbols());
    });

    test('only what the filter lets through, in either case of its letters', async () => {
      const { json } = await setup(
        new FakeQuotes(aVerdict('EURUSD'), aVerdict('EURGBP'), aVerdict('USDJPY')),
      );
      const { body } = await json('/v1/symbols?filter=eur&limit=1');
      expect(body).toMatchObject({ matching: 2, next: 'EURGBP', symbols: [{ symbol: 'EURGBP' }] });
    });

    test('and of ten thousand symbols judges only those that are looked at', async () => {
      const quotes = many(10_000);
      const { json } = await setup(quotes);
      expect((await json('/v1/symbols')).body).toMatchObject({ matching: 10_000, next: 'S00099' });
      expect(quotes.looks).toHaveLength(100);
    });
  });

  describe('streams it', () => {
    test('at once and again and again, as it changes', async () => {
      const quotes = new FakeQuotes(aVerdict('EURUSD'));
      const { watch } = await setup(quotes);
      const { boards, response } = await watch();
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      await waitFor('the first event', () => boards.length > 0);
      expect(boards[0]?.symbols).toMatchObject([{ symbol: 'EURUSD', verdict: 'open' }]);
      quotes.set(aClosedVerdict('EURUSD', 'SUSPECT_QUOTE', 'messages were lost'));
      await waitFor('the change', () => boards.at(-1)?.symbols[0]?.code === 'SUSPECT_QUOTE');
    });

    test('to everybody from one timer: what all look at is judged once for all', async () => {
      const quotes = many(10);
      const { watch } = await setup(quotes);
      const watchers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => watch(`?limit=${10 + index}`)),
      );
      await waitFor('all to hear', () => watchers.every(({ boards }) => boards.length >= 1));
      const before = quotes.looks.length;
      const heard = watchers.map(({ boards }) => boards.length);
      await waitFor('ten more each', () =>
        watchers.every(({ boards }, i) => boards.length >= heard[i]! + 10),
      );
      const ticks = Math.max(...watchers.map(({ boards }, i) => boards.length - heard[i]!)) + 1;
      expect(quotes.looks.length - before).toBeLessThanOrEqual(ticks * 10);
    });

    test('to a bounded number, and to the next one when one has left', async () => {
      const { watch, url } = await setup(many(1));
      const watchers = await Promise.all(Array.from({ length: 32 }, () => watch()));
      const refused = await fetch(`${url}/v1/stream`);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
      watchers[0]!.stop();
      const next = await waitFor('a place', async () => {
        const tried = await watch();
        return tried.response.status === 200 && tried;
      });
      await waitFor('its first event', () => next.boards.length > 0);
    });

    test('and stops looking when nobody watches any more', async () => {
      const quotes = many(1);
      const { watch } = await setup(quotes);
      const { boards, stop, ended } = await watch();
      await waitFor('an event', () => boards.length > 0);
      stop();
      await ended;
      await waitFor('the looks to stop', async () => {
        const before = quotes.looks.length;
        await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS * 5));
        return quotes.looks.length === before;
      });
    });

    test('and drops a watcher who does not read, while the others hear on', async () => {
      const quotes = many(200);
      const { port, watch, lines } = await setup(quotes, 'warn');
      const { boards } = await watch('?limit=1');
      const idle = connect(port, HOST);
      idle.on('error', () => undefined);
      idle.write('GET /v1/stream?limit=200 HTTP/1.1\r\nhost: gate\r\n\r\n');
      idle.pause();
      await waitFor('the slow one to be dropped', () =>
        lines.some(({ msg }) => String(msg).includes('slow')),
      );
      const heard = boards.length;
      await waitFor('more events', () => boards.length > heard + 3);
      idle.destroy();
    });

    test('and lets an order have its answer between two watchers', async () => {
      const quotes = many(15);
      const { watch, url } = await setup(quotes);
      const slow = quotes.look;
      (quotes as { look: unknown }).look = (symbol: string) => {
        const until = performance.now() + 20;
        while (performance.now() < until);
        return slow(symbol);
      };
      await Promise.all(quotes.symbols().map((symbol) => watch(`?filter=${symbol}`)));
      const tookMs: number[] = [];
      for (let time = 0; time < 9; time += 1) {
        const askedAt = performance.now();
        await (await fetch(`${url}/v1/gate/S00000`)).json();
        tookMs.push(performance.now() - askedAt);
      }
      // All watchers in one go would take 300 ms, again and again.
      expect(tookMs.toSorted((a, b) => a - b)[4]).toBeLessThan(150);
    });

    test('and when looking fails, drops those who look and goes on answering orders', async () => {
      const quotes = many(1);
      const { watch, json, lines } = await setup(quotes, 'error');
      const { boards, ended } = await watch();
      await waitFor('an event', () => boards.length > 0);
      (quotes as { feeds: unknown }).feeds = () => {
        throw new Error('on purpose');
      };
      await ended;
      expect(lines).toHaveLength(1);
      expect((await json('/v1/gate/S00000')).body).toMatchObject({ verdict: 'open' });
      expect((await json('/v1/symbols')).status).toBe(500);
      expect((await json('/v1/stream')).status).toBe(500);
    });

    test('until the server closes', async () => {
      const { watch } = await setup(many(1));
      const { ended, boards } = await watch();
      await waitFor('an event', () => boards.length > 0);
      await server!.close();
      server = undefined;
      await ended;
    });
  });

  describe('has a page', () => {
    test('that may run and load only what is in it, and holds no address of anything else', async () => {
      const { url } = await setup(new FakeQuotes());
      const response = await fetch(`${url}/`);
      const page = await response.text();
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain('unsafe');
      const contents = [...page.matchAll(/<(script|style)>(.*?)<\/\1>/gs)];
      expect(contents.map(([, tag]) => tag)).toEqual(['style', 'script']);
      for (const [, tag, content = ''] of contents) {
        expect(policy).toContain(
          `${tag}-src 'sha256-${createHash('sha256').update(content).digest('base64')}'`,
        );
      }
      expect(page).not.toMatch(/https?:\/\/|src=|innerHTML|style="|\son\w+="/);
      expect(page).toContain('name="viewport"');
    });

    test('whose script is sound and whose table is one for those who do not see it', async () => {
      const { url } = await setup(new FakeQuotes());
      const page = await (await fetch(`${url}/`)).text();
      const script = /<script>(.*?)<\/script>/s.exec(page)?.[1] ?? '';
      // It is compiled and not run: there is no document here.
      expect(() => new Script(script)).not.toThrow();
      const run = (): void => {
        new Script(script).runInContext(createContext({}));
      };
      expect(run).toThrow('document is not defined');
      expect(page.match(/<th scope="col" role="columnheader">/g)).toHaveLength(8);
      expect(page).toMatch(/<caption>.+<\/caption>/);
      expect(page).toContain('<html lang="en">');
    });
  });

  test('answers many questions that were sent down one connection at once, in their order', async () => {
    const { port } = await setup(new FakeQuotes(aVerdict('A'), aVerdict('B')));
    const socket = connect(port, HOST);
    const ask = (symbol: string) => `GET /v1/gate/${symbol} HTTP/1.1\r\nhost: gate\r\n\r\n`;
    socket.write(ask('A') + ask('B') + ask('A'));
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await waitFor('three answers', () => text.match(/"decidedAt"/g)?.length === 3);
    expect([...text.matchAll(/"symbol":"(.)"/g)].map(([, symbol]) => symbol)).toEqual(['A', 'B', 'A']);
    socket.destroy();
  });

  test('refuses what is not GET on the new paths, too', async () => {
    const { url } = await setup(new FakeQuotes());
    for (const path of ['/', '/v1/gate?symbol=A', '/v1/symbols', '/v1/stream']) {
      const status = await new Promise((resolve, reject) => {
        request(`${url}${path}`, { method: 'POST' }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
      expect(status).toBe(405);
    }
  });
});
