import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer, type Server } from 'node:net';
import type { GateVerdict } from '../../src/contracts/quote-gate';
import {
  createGateClient,
  GateUnavailableError,
  type Failover,
  type GateClientOptions,
} from '../../src/quotes/gate-client';
import { aClosedVerdict, aVerdict } from '../support/quote-source';

const HOST = '127.0.0.1';
const SYMBOL = 'EURUSD';
/** Generous: but for two tests, this is not about the deadline. */
const TIMEOUT_MS = 5_000;

describe('a caller of a gate that gives no sound verdict gets an error and never "open"', () => {
  const OPEN = aVerdict(SYMBOL);

  /** Runs `ask` with the address of a gate that answers as it is told to. */
  const withGate = async <T>(answer: RequestListener, ask: (url: string) => Promise<T>): Promise<T> => {
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    try {
      return await ask(`http://${HOST}:${(server.address() as AddressInfo).port}`);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  };
  /** What the caller sees: the verdict, or the message of the error. */
  const asking = (answer: RequestListener, timeoutMs = TIMEOUT_MS): Promise<GateVerdict | string> =>
    withGate(answer, async (url) => {
      try {
        return await createGateClient({ url, timeoutMs }).askGate(SYMBOL);
      } catch (error) {
        expect(error).toBeInstanceOf(GateUnavailableError);
        return (error as Error).message.replace(url, 'http://gate');
      }
    });
  const json = (body: unknown): RequestListener => {
    return (_, response) => response.end(JSON.stringify(body));
  };

  test('a sound one is handed over as it is', async () => {
    expect(await asking(json(OPEN))).toEqual(OPEN);
  });

  test('no answer within the deadline', async () => {
    const never: RequestListener = () => undefined;
    expect(await asking(never, 250)).toBe('the quote gate at http://gate did not answer within 250 ms');
  });

  test('an answer that begins and does not end within the deadline', async () => {
    const stalled: RequestListener = (_, response) => response.write('{"symbol":');
    expect(await asking(stalled, 250)).toBe('the quote gate at http://gate did not answer within 250 ms');
  });

  test('nobody there', async () => {
    const url = await withGate(json(OPEN), (address) => Promise.resolve(address));
    await expect(createGateClient({ url, timeoutMs: TIMEOUT_MS }).askGate(SYMBOL)).rejects.toThrow(
      `the quote gate at ${url} refused the connection`,
    );
  });

  test('a connection that breaks', async () => {
    const broken: RequestListener = (_, response) => response.destroy();
    expect(await asking(broken)).toMatch(/^the quote gate at http:\/\/gate could not be asked: \S/);
  });

  test.each([
    ['another status', (_, response) => response.writeHead(503).end('{}'), 'answered 503'],
    [
      'a way to somewhere else',
      (_, response) => response.writeHead(302, { location: 'http://elsewhere' }).end(),
      'answered 302',
    ],
    ['no JSON', (_, response) => response.end('<html>'), 'answered with something that is not JSON'],
    ['an empty object', json({}), 'answered with something that is no verdict'],
    [
      'a verdict of its own',
      json({ ...OPEN, verdict: 'ajar' }),
      'answered with something that is no verdict',
    ],
    ['another symbol', json({ ...OPEN, symbol: 'GBPUSD' }), 'answered for GBPUSD, not for EURUSD'],
    ['open with a reason to be closed', json({ ...OPEN, code: 'STALE_QUOTE' }), 'answered open without'],
    ['open and suspect', json({ ...OPEN, suspect: true }), 'answered open without the evidence for it'],
    ['open without a price', json({ ...OPEN, bid: null }), 'answered open without the evidence for it'],
    ['closed without a reason', json({ ...OPEN, verdict: 'closed' }), 'answered closed without the evidence'],
  ] satisfies [string, RequestListener, string][])('%s', async (_, answer, complaint) => {
    expect(await asking(answer)).toContain(`the quote gate at http://gate ${complaint}`);
  });

  test('a slash at the end of its address does not matter', async () => {
    const paths: (string | undefined)[] = [];
    const gate: RequestListener = (request, response) => {
      paths.push(request.url);
      response.end(JSON.stringify(OPEN));
    };
    await withGate(gate, (url) =>
      createGateClient({ url: `${url}/`, timeoutMs: TIMEOUT_MS }).askGate(SYMBOL),
    );
    expect(paths).toEqual(['/v1/gate/EURUSD']);
  });
});

describe('a caller of several instances', () => {
  const TIMEOUT = 2_000;
  /** What a busy machine adds; less than half of the time, which would be another mistake. */
  const SLACK = 750;
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  const listen = async (server: Server, host = HOST, port = 0): Promise<string> => {
    await new Promise<void>((resolve) => server.listen(port, host, resolve));
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    return `http://${host}:${(server.address() as AddressInfo).port}`;
  };
  /** A gate that counts what it is asked and answers as it is told to at the moment. */
  const aGate = async (answer: GateVerdict | 'nothing' | 'nonsense', host = HOST, port = 0) => {
    const gate = { asked: 0, url: '', answer };
    const server = createServer((_, response) => {
      gate.asked += 1;
      if (gate.answer === 'nothing') return;
      response.end(gate.answer === 'nonsense' ? '<html>' : JSON.stringify(gate.answer));
    });
    gate.url = await listen(server, host, port);
    closers.unshift(() => {
      server.closeAllConnections();
      return Promise.resolve();
    });
    return gate;
  };
  const nobody = async (): Promise<string> => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    return `http://${HOST}:${port}`;
  };
  const setup = (url: string, options: Partial<GateClientOptions> = {}) => {
    const failovers: Failover[] = [];
    const onFailover = (change: Failover) => failovers.push(change);
    const { askGate } = createGateClient({ url, timeoutMs: TIMEOUT, onFailover, ...options });
    const timed = async () => {
      const startedAt = performance.now();
      const outcome = await askGate(SYMBOL).catch((error: unknown) => (error as Error).message);
      return { outcome, tookMs: performance.now() - startedAt };
    };
    return { askGate, timed, failovers };
  };
  const OPEN = aVerdict(SYMBOL);
  const CLOSED = aClosedVerdict(SYMBOL, 'STALE_QUOTE', 'stale quote: 1240 ms');

  test('asks the first, and no other while that answers', async () => {
    const [first, second] = [await aGate(OPEN), await aGate(CLOSED)];
    const { askGate, failovers } = setup(`${first.url},${second.url}`);
    for (let time = 0; time < 5; time += 1) expect(await askGate(SYMBOL)).toEqual(OPEN);
    expect([first.asked, second.asked]).toEqual([5, 0]);
    expect(failovers).toEqual([]);
  });

  test('takes “closed” by one that lives for the verdict, whatever another would say', async () => {
    const [first, second] = [await aGate(CLOSED), await aGate(OPEN)];
    const { askGate } = setup(`${first.url}, ${second.url}/`);
    expect(await askGate(SYMBOL)).toEqual(CLOSED);
    expect(second.asked).toBe(0);
  });

  test('asks the next at once when the first refuses, and that one first from then on', async () => {
    const [down, second] = [await nobody(), await aGate(OPEN)];
    const { timed, failovers } = setup(`${down},${second.url}`);
    const { outcome, tookMs } = await timed();
    expect(outcome).toEqual(OPEN);
    expect(tookMs).toBeLessThan(TIMEOUT / 2);
    expect(failovers).toEqual([{ from: down, to: second.url, because: [`${down} refused the connection`] }]);
    await timed();
    expect([second.asked, failovers.length]).toEqual([2, 1]);
  });

  test('asks the next when the first has used up its share of the time, and only once', async () => {
    const [frozen, second] = [await aGate('nothing'), await aGate(OPEN)];
    const { timed } = setup(`${frozen.url},${second.url}`);
    const first = await timed();
    expect(first.outcome).toEqual(OPEN);
    expect(first.tookMs).toBeGreaterThanOrEqual(TIMEOUT / 2 - 5);
    expect(first.tookMs).toBeLessThan(TIMEOUT);
    const next = await timed();
    expect(next.tookMs).toBeLessThan(TIMEOUT / 2);
    expect([frozen.asked, second.asked]).toEqual([1, 2]);
  });

  test('comes back to the first when the second fails', async () => {
    const [first, second] = [await aGate('nonsense'), await aGate(OPEN)];
    const { askGate } = setup(`${first.url},${second.url}`);
    expect(await askGate(SYMBOL)).toEqual(OPEN);
    first.answer = CLOSED;
    second.answer = 'nonsense';
    expect(await askGate(SYMBOL)).toEqual(CLOSED);
  });

  test('gets the answer of the first, if it comes while the second is asked and silent', async () => {
    const late = createServer((_, response) =>
      setTimeout(() => response.end(JSON.stringify(CLOSED)), 0.75 * TIMEOUT),
    );
    const [url, silent] = [await listen(late), await aGate('nothing')];
    const { timed } = setup(`${url},${silent.url}`);
    expect((await timed()).outcome).toEqual(CLOSED);
    expect(silent.asked).toBe(1);
  });

  test('gets an error that says what each did, within the deadline for all of them together', async () => {
    const [down, frozen, mad] = [await nobody(), await aGate('nothing'), await aGate('nonsense')];
    const { timed, askGate } = setup([down, frozen.url, mad.url].join(','));
    const { outcome, tookMs } = await timed();
    expect(outcome).toMatch(
      new RegExp(
        `^no quote gate gave a verdict: the one at ${down} refused the connection; ` +
          `the one at ${mad.url} answered with something that is not JSON; ` +
          `the one at ${frozen.url} did not answer within \\d+ ms$`,
      ),
    );
    expect(tookMs).toBeLessThan(TIMEOUT + SLACK);
    await expect(askGate(SYMBOL)).rejects.toBeInstanceOf(GateUnavailableError);
  });

  test('has one deadline for all, however late the last was asked', async () => {
    const silent = [await aGate('nothing'), await aGate('nothing')];
    const { timed } = setup(silent.map(({ url }) => url).join(','));
    const { outcome, tookMs } = await timed();
    expect(outcome).toMatch(/ did not answer within 2000 ms; .* did not answer within \d+ ms$/);
    const leftMs = /(\d+) ms"$/.exec(JSON.stringify(outcome))?.[1];
    // It is asked at half time, and gets what is left; a timer of Node.js may fire up to a millisecond early.
    expect(Number(leftMs)).toBeGreaterThan(TIMEOUT / 4);
    expect(Number(leftMs)).toBeLessThanOrEqual(TIMEOUT / 2 + 1);
    expect(tookMs).toBeLessThan(TIMEOUT + SLACK);
  });

  test('behind one name goes from the address that is dead to the one that lives', async () => {
    const gate = await aGate(OPEN, '127.0.0.2');
    const url = `http://gates.test:${new URL(gate.url).port}`;
    const { timed, failovers, askGate } = setup(url, {
      lookUp: () => Promise.resolve(['127.0.0.1', '127.0.0.2']),
    });
    await new Promise(setImmediate);
    expect((await timed()).outcome).toEqual(OPEN);
    expect(failovers).toMatchObject([{ from: `${url} (127.0.0.1)`, to: `${url} (127.0.0.2)` }]);
    await askGate(SYMBOL);
    expect(gate.asked).toBe(2);
  });

  test('behind a name that nobody knows, or about which nobody answers, gets its error in time', async () => {
    const unknown = setup('http://gates.test:1', { lookUp: () => Promise.reject(new Error('no such name')) });
    expect((await unknown.timed()).outcome).toBe(
      'the quote gate at http://gates.test:1 could not be asked: no such name',
    );
    const lost = setup('http://gates.test:1', { lookUp: () => new Promise<never>(() => undefined) });
    const { outcome, tookMs } = await lost.timed();
    expect(outcome).toBe(`the quote gate at http://gates.test:1 did not answer within ${TIMEOUT} ms`);
    expect(tookMs).toBeLessThan(TIMEOUT + SLACK);
  });

  test('keeps its connections, and does not mind when one was let go at the moment of its use', async () => {
    let connections = 0;
    let hangUp = false;
    const body = JSON.stringify(OPEN);
    const server = createTcpServer((socket) => {
      connections += 1;
      socket.on('data', () => {
        if (!hangUp) socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
        else socket.destroy();
        hangUp = false;
      });
      socket.on('error', () => undefined);
      closers.unshift(() => Promise.resolve(socket.destroy()));
    });
    const { askGate } = setup(await listen(server));
    for (let time = 0; time < 3; time += 1) await askGate(SYMBOL);
    expect(connections).toBe(1);
    hangUp = true;
    expect(await askGate(SYMBOL)).toEqual(OPEN);
    expect(connections).toBe(2);
  });

  test('is told of an address that is none when it starts', () => {
    expect(() => setup('http://127.0.0.1:8090,,')).toThrow('Invalid URL');
  });
});
