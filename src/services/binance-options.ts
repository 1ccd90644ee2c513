import { ConfigError, type Config } from '../config';
import type { BinanceFeedOptions } from '../quotes/binance-feed';

/**
 * The feed of `QUOTE_SOURCE=binance`, as the environment describes it.
 * @throws {ConfigError} when no symbol is named
 */
export function binanceOptions(config: Config): BinanceFeedOptions {
  const { BINANCE_SYMBOLS: symbols, BINANCE_WS_URL: wsUrl, BINANCE_REST_URL: restUrl } = config;
  if (symbols === undefined) {
    throw new ConfigError(
      'The configuration is not usable:\n  BINANCE_SYMBOLS: must be set when QUOTE_SOURCE is binance, e.g. BTCUSDT,ETHUSDT',
    );
  }
  return {
    feed: 'binance',
    stream: config.BINANCE_STREAM,
    symbols,
    thresholds: {
      maxSilenceMs: config.QUOTE_MAX_SILENCE_MS,
      maxSourceAgeMs: config.QUOTE_MAX_SOURCE_AGE_MS,
      maxClockOffsetMs: config.QUOTE_MAX_CLOCK_OFFSET_MS,
    },
    maxClockDriftMs: config.QUOTE_MAX_CLOCK_DRIFT_MS,
    ...(wsUrl === undefined ? {} : { wsUrl }),
    ...(restUrl === undefined ? {} : { restUrl }),
  };
}
