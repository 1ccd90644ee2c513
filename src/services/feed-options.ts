import type { Config } from '../config';
import { loadDecoder } from '../quotes/load-decoder';
import type { OpenFeedOptions } from '../quotes/open-feed';

/** The feed that the environment describes. */
export function feedOptions(config: Config): OpenFeedOptions {
  const host = config.QUOTE_FEED_HOST;
  return {
    feed: config.QUOTE_FEED_NAME,
    rules: { kind: config.QUOTE_FEED_KIND, heartbeatSequence: config.QUOTE_HEARTBEAT_SEQUENCE },
    thresholds: {
      maxSilenceMs: config.QUOTE_MAX_SILENCE_MS,
      maxSourceAgeMs: config.QUOTE_MAX_SOURCE_AGE_MS,
      maxClockOffsetMs: config.QUOTE_MAX_CLOCK_OFFSET_MS,
    },
    decoder: loadDecoder(config.QUOTE_DECODER),
    maxClockDriftMs: config.QUOTE_MAX_CLOCK_DRIFT_MS,
    gapWindowMs: config.QUOTE_GAP_WINDOW_MS,
    lines: [
      { line: 'A', host, port: config.QUOTE_FEED_PORT, ...groupOf(config.QUOTE_FEED_GROUP) },
      ...secondLine(config),
    ],
    ...recovery(config),
  };
}

function secondLine(config: Config): OpenFeedOptions['lines'] {
  const port = config.QUOTE_FEED_B_PORT;
  if (port === undefined) return [];
  const host = config.QUOTE_FEED_B_HOST ?? config.QUOTE_FEED_HOST;
  return [{ line: 'B', host, port, ...groupOf(config.QUOTE_FEED_B_GROUP) }];
}

function groupOf(group: string | undefined): { readonly group?: string } {
  return group === undefined ? {} : { group };
}

function recovery(config: Config): Pick<OpenFeedOptions, 'recovery'> {
  const port = config.QUOTE_REREQUEST_PORT;
  if (port === undefined) return {};
  const host = config.QUOTE_REREQUEST_HOST ?? config.QUOTE_FEED_HOST;
  const { QUOTE_REREQUEST_TIMEOUT_MS: timeoutMs, QUOTE_REREQUEST_ATTEMPTS: attempts } = config;
  return { recovery: { host, port, timeoutMs, attempts } };
}
