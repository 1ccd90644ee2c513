import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { depthFrame, type SlowSnapshot } from './binance';

const TICK_INTERVAL_MS = 20;

/** What is answered to a request for a snapshot. */
export type SnapshotAnswer =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body: string }
  | 'never';

/** The two servers of Binance on one port of this machine: a depth stream of real connections, and snapshots. */
export class BinanceServer {
  readonly #http = createServer((request, response) => {
    this.#answer(request, response);
  });
  readonly #sockets = new WebSocketServer({ server: this.#http, autoPong: false });
  readonly #lastIds = new Map<string, number>();
  readonly #ticks: NodeJS.Timeout;
  /** What was asked for, and when on the monotonic clock. */
  readonly snapshotRequests: { readonly path: string; readonly symbol: string; readonly atMs: number }[] = [];
  /** The paths of the connections. */
  readonly connections: string[] = [];
  /** Symbols of which an event is sent every few milliseconds. */
  ticking: readonly string[] = [];
  /** Nothing is sent, not even the answer to a ping. */
  isMute = false;
  /** Taken in turn; when there are no more the truth is told. */
  readonly answers: SnapshotAnswer[] = [];
  /** The truth about a symbol. */
  answerWith = (symbol: string): string => this.snapshotOf(symbol);

  constructor() {
    this.#sockets.on('connection', (socket, request) => {
      this.connections.push(request.url ?? '');
      socket.on('ping', (data) => {
        if (!this.isMute) socket.pong(data);
      });
      socket.on('error', () => undefined);
    });
    this.#ticks = setInterval(() => {
      if (!this.isMute) for (const symbol of this.ticking) this.tick(symbol);
    }, TICK_INTERVAL_MS);
  }

  async listen(port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.#http.listen(port, '127.0.0.1', resolve));
    return (this.#http.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    clearInterval(this.#ticks);
    this.hangUp();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  /** Sends the next event of a symbol, made now; `skip`: so many numbers are left out before it. */
  tick(symbol: string, skip = 0): void {
    const u = this.lastId(symbol) + skip + 1;
    this.#lastIds.set(symbol, u);
    this.send(depthFrame({ s: symbol, E: Date.now(), U: u, u, b: [['10', String(u)]] }));
  }

  /** To all connections. */
  send(frame: string | Buffer): void {
    for (const socket of this.#open) socket.send(frame);
  }

  /** Breaks all connections. */
  hangUp(): void {
    for (const socket of this.#open) socket.terminate();
  }

  get openConnections(): number {
    return this.#open.length;
  }

  lastId(symbol: string): number {
    return this.#lastIds.get(symbol) ?? 100;
  }

  /** The book of a symbol, as it was `behind` numbers ago. */
  snapshotOf(symbol: string, behind = 0): string {
    const snapshot: SlowSnapshot = {
      lastUpdateId: this.lastId(symbol) - behind,
      bids: [['10', '1']],
      asks: [['11', '1']],
    };
    return JSON.stringify(snapshot);
  }

  get #open(): WebSocket[] {
    return [...this.#sockets.clients].filter(({ readyState, OPEN }) => readyState === OPEN);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname: path, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const symbol = searchParams.get('symbol') ?? '';
    this.snapshotRequests.push({ path, symbol, atMs: performance.now() });
    const answer = this.answers.shift() ?? { body: this.answerWith(symbol) };
    if (answer === 'never') return;
    response.writeHead(answer.status ?? 200, answer.headers);
    response.end(answer.body);
  }
}
