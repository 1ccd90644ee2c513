import { join } from 'node:path';
import type { Command } from 'commander';
import { loadConfig, type Config } from '../config';
import { migrate } from '../db/migrations';
import { ensureTopics } from '../kafka/topics';
import { createLogger, type Logger } from '../observability/logger';
import { packageRoot } from '../package-root';
import { ensureSearchAttributes } from '../temporal/search-attributes';
import { ensureSchedules } from './schedules';

/**
 * Brings all three servers to where the processes can start: schema, search attributes, topics, schedules. Running it again
 * changes nothing; several may run at once.
 */
export async function bootstrap(config: Config, logger: Logger): Promise<void> {
  const directory = join(packageRoot(), 'migrations');
  await migrate({ connectionString: config.DATABASE_URL, directory }, logger);
  await ensureSearchAttributes({ address: config.TEMPORAL_ADDRESS, namespace: config.TEMPORAL_NAMESPACE });
  const topics = {
    brokers: config.KAFKA_BROKERS,
    prefix: config.KAFKA_TOPIC_PREFIX,
    partitions: config.KAFKA_PARTITIONS,
    replicationFactor: config.KAFKA_REPLICATION_FACTOR,
  };
  await ensureTopics(topics, logger);
  // Last: a cleanup that starts at once finds the tables and the topics.
  await ensureSchedules(config, logger);
}

/** `tekil bootstrap`: what must have happened once before the processes start. */
export function registerBootstrap(program: Command): void {
  program
    .command('bootstrap')
    .description('migrate the database, register the search attributes, create the topics and the schedules')
    .action(async () => {
      const config = loadConfig();
      await bootstrap(config, createLogger('bootstrap', config.LOG_LEVEL));
      console.log('the database, Temporal and Kafka are ready');
    });
}
