import { loadConfig } from '../config';
import { runProcess } from '../lifecycle';
import { createLogger } from '../observability/logger';
import { createMetrics } from '../observability/metrics';
import { openBinanceFeed } from '../quotes/binance-feed';
import { startGateServer } from '../quotes/gate-server';
import { openFeed } from '../quotes/open-feed';
import { binanceOptions } from './binance-options';
import { feedOptions } from './feed-options';
import { openAdminServer } from './process-parts';

/** Listens to one quote feed and answers whether an order may open. Holds no state that a restart would miss. */
async function runQuoteHealth(): Promise<void> {
  const config = loadConfig();
  const logger = createLogger('quote-health', config.LOG_LEVEL);
  const metrics = createMetrics({ processMetrics: true });
  await runProcess(logger, async (lifecycle) => {
    const feed =
      config.QUOTE_SOURCE === 'binance'
        ? openBinanceFeed(binanceOptions(config), metrics, logger)
        : await openFeed(feedOptions(config), metrics, logger);
    lifecycle.started('quote feed', () => feed.close());
    // A gate that answers before it has heard anything would refuse orders for good that a moment's wait would open.
    // Until then nobody is at the door, which the order path takes for "not now". A silence this long is an answer.
    await feed.heardOrSilent(config.QUOTE_MAX_SILENCE_MS);
    const gate = await startGateServer(
      { host: config.GATE_HOST, port: config.GATE_PORT },
      feed.source,
      logger,
    );
    lifecycle.started('gate server', () => gate.close());
    logger.info({ gatePort: gate.port }, 'quotes are heard and the gate is served');
    await openAdminServer(lifecycle, config, { logger, metrics }, {});
  });
}

void runQuoteHealth();
