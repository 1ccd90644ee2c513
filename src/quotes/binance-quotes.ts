import type { GateVerdict } from '../contracts/quote-gate';
import type { GateThresholds, Now } from '../domain/quote-gate';
import { newFeed } from '../domain/quote-health';
import type { Metrics } from '../observability/metrics';
import type { FeedAlarm } from './alarm-log';
import type { DepthSnapshot } from './binance-depth';
import { readFrame, streamName, type BinanceStream } from './binance-messages';
import { BinanceSymbol } from './binance-symbol';
import { gateVerdict } from './gate-verdict';
import { ProviderClock, systemNow } from './provider-clock';
import type { FeedHealth, QuoteSource } from './quote-source';

export interface BinanceQuotesOptions {
  readonly feed: string;
  readonly stream: BinanceStream;
  readonly symbols: readonly string[];
  readonly thresholds: GateThresholds;
  readonly maxClockDriftMs: number;
  /** A symbol waits for a snapshot; said again with every event that it holds. */
  readonly wantSnapshot: (symbol: string) => void;
  readonly onAlarm?: (alarm: FeedAlarm) => void;
  readonly now?: () => Now;
}

/** What the only line of such a feed is called. */
const LINE = 'A';

/**
 * The quotes of one connection to Binance: frames and snapshots go in, verdicts come out. Each symbol has numbers of
 * its own, hence a health of its own; the clock of the provider and the connection are common to all.
 */
export class BinanceQuotes implements QuoteSource {
  readonly #options: BinanceQuotesOptions;
  readonly #metrics: Metrics;
  readonly #now: () => Now;
  readonly #symbols: ReadonlyMap<string, BinanceSymbol>;
  readonly #symbolOf: ReadonlyMap<string, string>;
  readonly #clock: ProviderClock;
  /** When it was opened, and which one it is; null while there is none. */
  #connection: string | null = null;
  #connections = 0;
  #heardMs: number | null = null;

  constructor(options: BinanceQuotesOptions, metrics: Metrics) {
    const { feed, stream, symbols, thresholds } = options;
    this.#options = options;
    this.#metrics = metrics;
    this.#now = options.now ?? systemNow;
    this.#clock = new ProviderClock(
      {
        feed,
        maxOffsetMs: thresholds.maxClockOffsetMs,
        maxDriftMs: options.maxClockDriftMs,
        onDrift: (drift) => options.onAlarm?.({ kind: 'clock_drift', ...drift }),
      },
      metrics,
    );
    const wantSnapshot = options.wantSnapshot;
    this.#symbols = new Map(
      symbols.map((symbol) => {
        const want = (): void => {
          wantSnapshot(symbol);
        };
        return [symbol, new BinanceSymbol({ feed, symbol, wantSnapshot: want }, metrics)];
      }),
    );
    this.#symbolOf = new Map(symbols.map((symbol) => [streamName(stream, symbol), symbol]));
  }

  /** A connection was opened; every price that was known is of an earlier one. */
  connected(): void {
    const now = this.#now();
    this.#connections += 1;
    // The time alone would not do: a clock that is set back must not give a name twice.
    this.#connection = `${new Date(now.wallMs).toISOString()}#${this.#connections}`;
    this.#heardMs = now.monotonicMs;
    for (const symbol of this.#symbols.values()) symbol.connected(this.#connection);
    this.#metrics.quoteSessions.inc({ feed: this.#options.feed });
  }

  /** The connection was lost: what changes from now on will not be told. */
  disconnected(): void {
    const now = this.#now();
    this.#connection = null;
    for (const symbol of this.#symbols.values()) symbol.disconnected(now.monotonicMs);
    this.#metrics.quoteLineAlive.set({ feed: this.#options.feed, line: LINE }, 0);
  }

  /** Takes one text frame. False: nobody can say what it was about, and the connection is to be given up. */
  receive(text: string): boolean {
    const { feed, stream } = this.#options;
    const now = this.#now();
    this.#heardMs = now.monotonicMs;
    const frame = readFrame(stream, this.#symbolOf, text);
    const outcome = frame.kind === 'unread' ? `unread_${frame.fault}` : frame.kind;
    this.#metrics.quoteStreamFrames.inc({ feed, outcome });
    if (frame.kind === 'other') return true;
    const symbol = frame.symbol === null ? undefined : this.#symbols.get(frame.symbol);
    if (symbol === undefined) return false;
    switch (frame.kind) {
      case 'depth':
        if (symbol.takeEvent(frame.event, now.monotonicMs)) this.#clock.measure(frame.event.eventTimeMs, now);
        break;
      case 'ticker':
        if (symbol.takeTicker(frame.ticker, now.monotonicMs))
          this.#clock.measure(frame.ticker.eventTimeMs, now);
        break;
      case 'unread':
        symbol.unread(now.monotonicMs);
    }
    return true;
  }

  /** The other side has answered a ping: what it had sent before has arrived. */
  pong(): void {
    const { feed } = this.#options;
    const { monotonicMs } = this.#now();
    this.#heardMs = monotonicMs;
    for (const symbol of this.#symbols.values()) symbol.alive(monotonicMs);
    this.#metrics.quoteHeartbeats.inc({ feed, outcome: 'alive' });
    this.#metrics.quoteLineAlive.set({ feed, line: LINE }, 1);
  }

  /** Takes the snapshot that was asked for. */
  load(symbol: string, snapshot: DepthSnapshot): void {
    this.#symbols.get(symbol)?.load(snapshot, this.#now().monotonicMs);
  }

  /** Does the symbol still wait for a snapshot? */
  awaitsSnapshot(symbol: string): boolean {
    return this.#symbols.get(symbol)?.awaitsSnapshot === true;
  }

  /** Since something was heard on the connection that there is, on the monotonic clock; null when there is none. */
  get silenceMs(): number | null {
    if (this.#connection === null || this.#heardMs === null) return null;
    return this.#now().monotonicMs - this.#heardMs;
  }

  symbols(): string[] {
    return [...this.#symbols]
      .filter(([, { state }]) => state.symbols.size > 0)
      .map(([name]) => name)
      .toSorted();
  }

  verdict(symbol: string): GateVerdict {
    const verdict = this.look(symbol);
    this.#metrics.gateVerdicts.inc({ verdict: verdict.verdict, code: verdict.code ?? 'OPEN' });
    return verdict;
  }

  look(symbol: string): GateVerdict {
    const { feed, thresholds } = this.#options;
    const state = this.#symbols.get(symbol)?.state ?? newFeed();
    return gateVerdict({ feed, state, offsetMs: this.#clock.publish(), thresholds }, symbol, this.#now());
  }

  feeds(): FeedHealth[] {
    const { feed, thresholds } = this.#options;
    const silenceMs = this.silenceMs;
    const alive = silenceMs !== null && silenceMs <= thresholds.maxSilenceMs;
    const lost = [...this.#symbols.values()].reduce((sum, { state }) => sum + state.lost, 0n);
    const line = { line: LINE, silenceMs: silenceMs === null ? null : Math.round(silenceMs), alive };
    return [{ feed, session: this.#connection, lost: lost.toString(), lines: [line] }];
  }
}
