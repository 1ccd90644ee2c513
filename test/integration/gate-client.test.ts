import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GateVerdict } from '../../src/contracts/quote-gate';
import { createGateClient, GateUnavailableError } from '../../src/quotes/gate-client';

const HOST = '127.0.0.1';
const SYMBOL = 'EURUSD';
/** Generous: but for two tests, this is not about the deadline. */
const TIMEOUT_MS = 5_000;

describe('a caller of a gate that gives no sound verdict gets an error and never "open"', () => {
  const OPEN: GateVerdict = {
    symbol: SYMBOL,
    verdict: 'open',
    feed: 'test',
    session: 'S',
    lastSequence: '1',
    silenceMs: 1,
    sourceAgeMs: 1,
    clockOffsetMs: 0,
    suspect: false,
    bid: 1,
    ask: 1,
    decidedAt: '2026-03-14T10:00:00Z',
  };

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
      'could not be asked: unexpected redirect',
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
