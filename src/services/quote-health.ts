import { EventEmitter, once } from 'node:events';
import { loadConfig } from '../config';
import { runProcess } from '../lifecycle';
import { createLogger } from '../observability/logger';
import { createMetrics } from '../observability/metrics';
import { startGateServer } from '../quotes/gate-server';
import { QuoteBook } from '../quotes/quote-book';
import { listenUdp } from '../quotes/udp-listener';
import { openAdminServer } from './process-parts';

/** Listens to one quote feed and answers whether an order may open. Holds no state that a restart would miss. */
async function runQuoteHealth(): Promise<void> {
  const config = loadConfig();
  const logger = createLogger('quote-health', config.LOG_LEVEL);
  const metrics = createMetrics({ processMetrics: true });
  await runProcess(logger, async (lifecycle) => {
    const book = new QuoteBook(
      {
        feed: config.QUOTE_FEED_NAME,
        rules: { kind: config.QUOTE_FEED_KIND, heartbeatSequence: config.QUOTE_HEARTBEAT_SEQUENCE },
        thresholds: {
          maxSilenceMs: config.QUOTE_MAX_SILENCE_MS,
          maxSourceAgeMs: config.QUOTE_MAX_SOURCE_AGE_MS,
          maxClockOffsetMs: config.QUOTE_MAX_CLOCK_OFFSET_MS,
        },
      },
      metrics,
    );
    const feed = new EventEmitter();
    const listener = await listenUdp(
      { host: config.QUOTE_FEED_HOST, port: config.QUOTE_FEED_PORT },
      (datagram) => {
        book.receive(datagram);
        feed.emit('heard');
      },
      logger,
    );
    lifecycle.started('quote listener', () => listener.close());
    await heardOrSilent(feed, config.QUOTE_MAX_SILENCE_MS);
    const gate = await startGateServer({ host: config.GATE_HOST, port: config.GATE_PORT }, book, logger);
    lifecycle.started('gate server', () => gate.close());
    logger.info({ feedPort: listener.port, gatePort: gate.port }, 'quotes are heard and the gate is served');
    await openAdminServer(lifecycle, config, { logger, metrics }, {});
  });
}

/**
 * A gate that answers before it has heard anything would refuse orders for good that a moment's wait would open. Until
 * then nobody is at the door, which the order path takes for "not now". A silence this long is an answer, though.
 */
async function heardOrSilent(feed: EventEmitter, maxSilenceMs: number): Promise<void> {
  try {
    await once(feed, 'heard', { signal: AbortSignal.timeout(maxSilenceMs) });
  } catch {
    // Nothing came: the gate opens its door and says so.
  }
}

void runQuoteHealth();
