import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import { createAlarmLog } from './alarm-log';
import { SNAPSHOT_LEVELS } from './binance-depth';
import { streamName } from './binance-messages';
import { BinanceQuotes, type BinanceQuotesOptions } from './binance-quotes';
import { SnapshotQueue } from './binance-snapshots';
import { StreamSocket } from './stream-socket';
import { withinTime } from './within-time';

type Rules = Pick<BinanceQuotesOptions, 'feed' | 'stream' | 'symbols' | 'thresholds' | 'maxClockDriftMs'>;

export interface BinanceFeedOptions extends Rules {
  /** Of the WebSocket server, e.g. `wss://stream.binance.com:9443`; the venue's own when left out. */
  readonly wsUrl?: string;
  /** Of the REST server, e.g. `https://api.binance.com`; the venue's own when left out. */
  readonly restUrl?: string;
  /** The pace of what is done again; Binance's when left out. */
  readonly pace?: Partial<BinancePace>;
}

export interface BinancePace {
  readonly snapshotIntervalMs: number;
  readonly snapshotTimeoutMs: number;
  readonly minReconnectMs: number;
  readonly maxReconnectMs: number;
  readonly maxLinkSilenceMs: number;
}

export interface BinanceFeed {
  readonly source: BinanceQuotes;
  /** Resolves when every symbol has had a price, or after `timeoutMs`. */
  readonly heardOrSilent: (timeoutMs: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * A snapshot of 1,000 levels weighs 50 of the 6,000 that an address may use up in a minute, and 300 connections in five
 * minutes are allowed: what is done here stays far below both.
 */
const PACE: BinancePace = {
  snapshotIntervalMs: 1_000,
  snapshotTimeoutMs: 5_000,
  minReconnectMs: 500,
  maxReconnectMs: 30_000,
  maxLinkSilenceMs: 5_000,
};
/** Pings in the time after which silence closes the gate: one may be late. */
const PINGS_PER_SILENCE = 3;
/** The server allows five messages a second, pings and pongs included. */
const MIN_PING_INTERVAL_MS = 250;

const VENUES = {
  spot: { ws: 'wss://stream.binance.com:9443', rest: 'https://api.binance.com', depthPath: '/api/v3/depth' },
  futures: { ws: 'wss://fstream.binance.com', rest: 'https://fapi.binance.com', depthPath: '/fapi/v1/depth' },
} as const;

/** Follows the quotes of some symbols at Binance. What cannot be reached is tried again for as long as it is open. */
export function openBinanceFeed(options: BinanceFeedOptions, metrics: Metrics, logger: Logger): BinanceFeed {
  let hear: () => void = () => undefined;
  let isComplete = false;
  const heard = new Promise<void>((resolve) => (hear = resolve));
  const lookAround = (): void => {
    if (isComplete || source.symbols().length < options.symbols.length) return;
    isComplete = true;
    hear();
  };
  const wantSnapshot = (symbol: string): void => {
    snapshots.want(symbol);
  };
  const source = new BinanceQuotes({ ...options, wantSnapshot, onAlarm: createAlarmLog(logger) }, metrics);
  const parts = { options, source, metrics, logger, lookAround };
  const snapshots = createSnapshots(parts);
  const socket = createSocket(parts);
  socket.start();
  const close = async (): Promise<void> => {
    await socket.close();
    await snapshots.close();
  };
  return { source, close, heardOrSilent: (timeoutMs) => withinTime(heard, timeoutMs) };
}

interface Parts {
  readonly options: BinanceFeedOptions;
  readonly source: BinanceQuotes;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Something was taken: is every symbol there now? */
  readonly lookAround: () => void;
}

function createSnapshots({ options, source, metrics, logger, lookAround }: Parts): SnapshotQueue {
  const { feed, restUrl = venueOf(options).rest } = options;
  const { snapshotTimeoutMs: timeoutMs, snapshotIntervalMs: minIntervalMs } = { ...PACE, ...options.pace };
  const url = `${restUrl}${venueOf(options).depthPath}?limit=${SNAPSHOT_LEVELS}`;
  return new SnapshotQueue(
    { urlOf: (symbol) => `${url}&symbol=${symbol}`, timeoutMs, minIntervalMs },
    {
      isWanted: (symbol) => source.awaitsSnapshot(symbol),
      loaded: (symbol, snapshot) => {
        source.load(symbol, snapshot);
        lookAround();
      },
      ended: (outcome) => {
        metrics.quoteSnapshots.inc({ feed, outcome });
      },
    },
    logger,
  );
}

function createSocket({ options, source, metrics, logger, lookAround }: Parts): StreamSocket {
  const { feed, stream, symbols, thresholds, wsUrl = venueOf(options).ws } = options;
  const pace = { ...PACE, ...options.pace };
  const names = symbols.map((symbol) => streamName(stream, symbol));
  const pingIntervalMs = Math.max(
    MIN_PING_INTERVAL_MS,
    Math.floor(thresholds.maxSilenceMs / PINGS_PER_SILENCE),
  );
  return new StreamSocket(
    {
      ...pace,
      url: `${wsUrl}/stream?streams=${names.join('/')}`,
      maxSilenceMs: pace.maxLinkSilenceMs,
      pingIntervalMs,
    },
    {
      opened: () => {
        metrics.quoteStreamConnections.inc({ feed, outcome: 'opened' });
        source.connected();
      },
      text: (text) => {
        const isReadable = source.receive(text);
        lookAround();
        return isReadable;
      },
      pong: () => {
        source.pong();
      },
      closed: () => {
        source.disconnected();
      },
      ended: (outcome) => {
        metrics.quoteStreamConnections.inc({ feed, outcome });
      },
    },
    logger,
  );
}

function venueOf({ stream }: BinanceFeedOptions): (typeof VENUES)['spot' | 'futures'] {
  return VENUES[stream === 'spot-depth' ? 'spot' : 'futures'];
}
