import { Kafka, logLevel, type LogEntry } from 'kafkajs';
import type { Logger } from '../observability/logger';
import { registerCodecs } from './codecs';

export interface KafkaClientOptions {
  readonly brokers: readonly string[];
  /** Shown in the broker's logs and metrics. */
  readonly clientId: string;
  /** For one request to one broker. */
  readonly requestTimeoutMs: number;
}

const CONNECTION_TIMEOUT_MS = 2_000;

/** How long the client itself tries again before it reports a failure: about six seconds of waiting in all. */
export const CLIENT_RETRY = { initialRetryTime: 200, maxRetryTime: 3_000, retries: 5 } as const;

/** A Kafka client whose every wait has a bound and whose log lines go to ours. Nothing is connected yet. */
export function createKafka(options: KafkaClientOptions, logger: Logger): Kafka {
  registerCodecs();
  return new Kafka({
    brokers: [...options.brokers],
    clientId: options.clientId,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: options.requestTimeoutMs,
    retry: CLIENT_RETRY,
    logLevel: logLevel.INFO,
    logCreator: () => (entry) => {
      forward(entry, logger);
    },
  });
}

/**
 * The library logs as errors what it is about to try again, and as information what only its authors want to know.
 * What ends a process is logged by whoever ends it.
 */
function forward({ level, namespace, log }: LogEntry, logger: Logger): void {
  const { message, timestamp, logger: library, ...facts } = log;
  const fields = { ...facts, kafkajs: namespace };
  if (level <= logLevel.WARN) logger.warn(fields, message);
  else logger.debug(fields, message);
}
