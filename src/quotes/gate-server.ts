import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { problemOf, type ErrorCode } from '../contracts/error-codes';
import type { GateVerdict } from '../contracts/quote-gate';
import type { Logger } from '../observability/logger';
import { BoardSnapshot } from './gate-board';
import { GATE_PAGE, PAGE_HEADERS } from './gate-page';
import { askedSymbols, boardView, MAX_SYMBOL_CHARACTERS, QueryError } from './gate-query';
import { GateStream } from './gate-stream';
import type { QuoteSource } from './quote-source';

/** Callers keep their connections; an idle one is let go after this. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** A watcher who is one too many may come again after this. */
const RETRY_AFTER_SECONDS = 5;
const GATE_PATH = '/v1/gate/';

export interface GateServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

export interface GateServerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Between two events of a stream; a second when left out. */
  readonly streamIntervalMs?: number;
}

/** What an answer is made of. */
interface Gate {
  readonly source: QuoteSource;
  readonly stream: GateStream;
  readonly logger: Logger;
}

/**
 * `GET /v1/gate/{symbol}` and `GET /v1/gate?symbol=…&symbol=…` answer with verdicts and their evidence, and log them.
 * For those who only look on there are `GET /v1/symbols`, `GET /v1/stream` and the page at `/`. A symbol that is not
 * known is closed like any other: only what names no symbol is an error.
 * @throws when the address cannot be bound
 */
export async function startGateServer(
  options: GateServerOptions,
  source: QuoteSource,
  logger: Logger,
): Promise<GateServer> {
  const stream = new GateStream(source, logger, options.streamIntervalMs);
  const gate = { source, stream, logger };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (request, response) => {
    try {
      answer(request, response, gate);
    } catch (error) {
      logger.error({ err: error }, 'the gate failed to answer');
      if (response.headersSent) response.destroy();
      else sendProblem(response, 'INTERNAL', 'the error was logged');
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const close = async (): Promise<void> => {
    stream.close();
    await closeServer(server);
  };
  return { port: (server.address() as AddressInfo).port, close };
}

function answer(request: IncomingMessage, response: ServerResponse, gate: Gate): void {
  if (request.method !== 'GET') {
    response.setHeader('allow', 'GET');
    sendProblem(response, 'METHOD_NOT_ALLOWED', 'only GET is allowed here');
    return;
  }
  const [path = '', query = ''] = (request.url ?? '/').split(/\?(.*)/s, 2);
  try {
    if (path.startsWith(GATE_PATH)) answerForOne(response, gate, path.slice(GATE_PATH.length));
    else answerOther(response, gate, path, new URLSearchParams(query));
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    sendProblem(response, 'INVALID_REQUEST', error.message);
  }
}

function answerForOne(response: ServerResponse, gate: Gate, segment: string): void {
  const symbol = decodedSegment(segment);
  if (symbol === undefined || symbol.length > MAX_SYMBOL_CHARACTERS) {
    const right = `the path must be /v1/gate/{symbol} with a symbol of at most ${MAX_SYMBOL_CHARACTERS} characters, percent-encoded, e.g. EUR%2FUSD`;
    sendProblem(response, 'INVALID_PATH', right);
    return;
  }
  sendJson(response, verdictOf(gate, symbol));
}

function answerOther(response: ServerResponse, gate: Gate, path: string, query: URLSearchParams): void {
  switch (path) {
    case '/':
      send(response, 200, PAGE_HEADERS, GATE_PAGE);
      return;
    case '/v1/gate':
      sendJson(response, { verdicts: askedSymbols(query).map((symbol) => verdictOf(gate, symbol)) });
      return;
    case '/v1/symbols':
      sendJson(response, new BoardSnapshot(gate.source).view(boardView(query)));
      return;
    case '/v1/stream':
      if (gate.stream.add(response, boardView(query))) return;
      send(
        response,
        503,
        { 'content-type': 'text/plain', 'retry-after': String(RETRY_AFTER_SECONDS) },
        'Too many are watching already: close a page that nobody looks at, or read /v1/symbols.\n',
      );
      return;
    default:
      sendProblem(
        response,
        'NOT_FOUND',
        'there is /, /v1/gate/{symbol}, /v1/gate, /v1/symbols and /v1/stream',
      );
  }
}

/** An order rests on it, so that it leaves a line: at `info` where it refuses, at `debug` where nothing is to be explained. */
function verdictOf({ source, logger }: Gate, symbol: string): GateVerdict {
  const verdict = source.verdict(symbol);
  if (verdict.verdict === 'closed') logger.info({ quote: verdict }, 'the gate is closed');
  else logger.debug({ quote: verdict }, 'the gate is open');
  return verdict;
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
  const headers = { 'content-type': 'application/problem+json' };
  send(response, problem.status, headers, JSON.stringify(problem));
}

function sendJson(response: ServerResponse, body: unknown): void {
  send(response, 200, { 'content-type': 'application/json' }, JSON.stringify(body));
}

function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    ...headers,
    'content-length': bytes.length,
    'x-content-type-options': 'nosniff',
    // A verdict holds for the moment in which it was made: nothing on the way may keep it.
    'cache-control': 'no-store',
  });
  response.end(bytes);
}

/** Answers are given at once, so that whatever connection is still open is idle. */
async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.close((error) => {
      if (error === undefined) resolve();
      else reject(error);
    });
    server.closeAllConnections();
  });
}
