import { loadConfig, type Config } from '../config';
import { createAcknowledgedProducer } from '../kafka/acknowledged-producer';
import { runProcess } from '../lifecycle';
import { createLogger } from '../observability/logger';
import { createMetrics } from '../observability/metrics';
import { readRecordedQuotes } from '../quotes/recorded-quotes';
import { SimulatedFeed, type SimulatedFeedOptions } from '../quotes/simulated-feed';
import { createCommandConsumer } from '../venue/command-consumer';
import { startControlApi } from '../venue/control-api';
import { createExecutionPublisher } from '../venue/execution-publisher';
import { SimulatedVenue } from '../venue/simulated-venue';
import { openKafka } from './kafka-parts';
import { openAdminServer } from './process-parts';

/** The simulated prices are doubles and become decimal text here, as an exchange would print them. */
const PRICE_PLACES = 5;

/** Prices that walk at random, and a recorded day in the place of one of them. */
async function feedOptions(config: Config): Promise<SimulatedFeedOptions> {
  const { SIMULATED_FEED_RECORDING: recorded, SIMULATED_FEED_PRICES: prices } = config;
  const options = {
    host: config.QUOTE_FEED_HOST,
    port: config.QUOTE_FEED_PORT,
    symbols: prices,
    tickIntervalMs: config.SIMULATED_FEED_TICK_INTERVAL_MS,
  };
  if (recorded === undefined) return options;
  const { [recorded.symbol]: replaced, ...symbols } = prices;
  const quotes = await readRecordedQuotes(recorded.path);
  const recording = { symbol: recorded.symbol, quotes, speed: config.SIMULATED_FEED_SPEED };
  return { ...options, symbols, recording };
}

/** A venue with its bridge and a quote feed, for demonstrations and tests. */
export async function runSimulatedVenue(): Promise<void> {
  const config = loadConfig();
  const logger = createLogger('simulated-venue', config.LOG_LEVEL);
  const metrics = createMetrics({ processMetrics: true });
  await runProcess(logger, async (lifecycle, fail) => {
    const feed = new SimulatedFeed(await feedOptions(config));
    lifecycle.started('quote feed', () => feed.close());
    feed.start();

    const { kafka, topics } = await openKafka(config, logger, 'tekil-simulated-venue');
    const producer = createAcknowledgedProducer(kafka, config.KAFKA_REQUEST_TIMEOUT_MS);
    lifecycle.started('execution producer', () => producer.close());
    const publisher = createExecutionPublisher(producer, topics.executions, logger);
    const venue = new SimulatedVenue({
      source: config.VENUE_SOURCE,
      publish: publisher.publish,
      lastPrice: (symbol) => feed.lastPrice(symbol)?.toFixed(PRICE_PLACES),
      logger,
    });
    lifecycle.started('venue', () => venue.stop());
    const options = { topic: topics.venueCommands, groupId: config.VENUE_GROUP_ID, onFatal: fail };
    const consumer = createCommandConsumer(kafka, venue, options, logger);
    lifecycle.started('command consumer', consumer.stop);
    await consumer.start();
    const address = { host: config.VENUE_CONTROL_HOST, port: config.VENUE_CONTROL_PORT };
    const control = await startControlApi(address, { venue, publisher, feed, logger });
    lifecycle.started('control API', control.close);
    logger.info({ host: address.host, port: control.port }, 'the control API is served');
    await openAdminServer(lifecycle, config, { logger, metrics }, {});
  });
}

if (require.main === module) void runSimulatedVenue();
