import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../observability/logger';
import type { QuoteBook } from './quote-book';

/** Callers keep their connections; an idle one is let go after this. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const GATE_PATH = '/v1/gate/';

export interface GateServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** `GET /v1/gate/{symbol}` answers with a verdict and its evidence; `GET /v1/symbols` with what is known. */
export async function startGateServer(
  address: { readonly host: string; readonly port: number },
  book: QuoteBook,
  logger: Logger,
): Promise<GateServer> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (request, response) => {
    try {
      if (request.method === 'GET') answer(request.url ?? '/', response, book);
      else send(response, 405, { title: 'Only GET is allowed here', status: 405 });
    } catch (error) {
      logger.error({ err: error }, 'the gate failed to answer');
      send(response, 500, { title: 'The gate failed to answer', status: 500 });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

function answer(url: string, response: ServerResponse, book: QuoteBook): void {
  const path = url.replace(/\?.*/, '');
  if (path === '/v1/symbols') {
    send(response, 200, { symbols: book.symbols() });
    return;
  }
  if (!path.startsWith(GATE_PATH)) {
    send(response, 404, { title: 'There is /v1/gate/{symbol} and /v1/symbols', status: 404 });
    return;
  }
  const symbol = decoded(path.slice(GATE_PATH.length));
  if (symbol === undefined)
    send(response, 400, { title: 'The symbol has a malformed % escape', status: 400 });
  else send(response, 200, book.verdict(symbol));
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const type = status === 200 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type });
  response.end(JSON.stringify(body));
}
