import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { problemOf, type ErrorCode } from '../contracts/error-codes';
import type { Logger } from '../observability/logger';
import type { QuoteBook } from './quote-book';

/** Callers keep their connections; an idle one is let go after this. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const GATE_PATH = '/v1/gate/';

export interface GateServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/**
 * `GET /v1/gate/{symbol}` answers with a verdict and its evidence; `GET /v1/symbols` with what is known. A symbol that
 * is not known is closed like any other: only a path that names no symbol is an error.
 * @throws when the address cannot be bound
 */
export async function startGateServer(
  address: { readonly host: string; readonly port: number },
  book: QuoteBook,
  logger: Logger,
): Promise<GateServer> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (request, response) => {
    try {
      answer(request, response, book);
    } catch (error) {
      logger.error({ err: error }, 'the gate failed to answer');
      sendProblem(response, 'INTERNAL', 'the error was logged');
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

function answer(request: IncomingMessage, response: ServerResponse, book: QuoteBook): void {
  if (request.method !== 'GET') {
    response.setHeader('allow', 'GET');
    sendProblem(response, 'METHOD_NOT_ALLOWED', 'only GET is allowed here');
    return;
  }
  const path = (request.url ?? '/').replace(/\?.*/, '');
  if (path === '/v1/symbols') {
    send(response, 200, 'application/json', { symbols: book.symbols() });
    return;
  }
  if (!path.startsWith(GATE_PATH)) {
    sendProblem(response, 'NOT_FOUND', 'there is /v1/gate/{symbol} and /v1/symbols');
    return;
  }
  const symbol = decodedSegment(path.slice(GATE_PATH.length));
  if (symbol === undefined) {
    const right = 'the path must be /v1/gate/{symbol} with the symbol percent-encoded, e.g. EUR%2FUSD';
    sendProblem(response, 'INVALID_PATH', right);
    return;
  }
  send(response, 200, 'application/json', book.verdict(symbol));
}

/** Undefined for what is no single, well-encoded segment of a path. */
function decodedSegment(segment: string): string | undefined {
  if (segment === '' || segment.includes('/')) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function sendProblem(response: ServerResponse, code: ErrorCode, detail: string): void {
  const problem = problemOf(code, detail);
  send(response, problem.status, 'application/problem+json', problem);
}

function send(response: ServerResponse, status: number, contentType: string, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': bytes.length,
    // A verdict holds for the moment in which it was made: nothing on the way may keep it.
    'cache-control': 'no-store',
  });
  response.end(bytes);
}

/** Answers are given at once, so that whatever connection is still open is idle. */
async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.close((error) => {
      if (error === undefined) resolve();
      else reject(error);
    });
    server.closeAllConnections();
  });
}
