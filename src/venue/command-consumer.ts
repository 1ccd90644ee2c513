import type { Consumer, Kafka, KafkaMessage } from 'kafkajs';
import { fieldFaults } from '../contracts/fields';
import { venueCommand, type VenueCommand } from '../contracts/venue-command';
import { CLIENT_RETRY } from '../kafka/client';
import type { Logger } from '../observability/logger';

export interface CommandConsumerOptions {
  readonly topic: string;
  readonly groupId: string;
  readonly onFatal: (error: unknown) => void;
}

/** Who acts on commands. */
export interface CommandReceiver {
  receive(command: VenueCommand, receivedAtMs: number): void;
}

const MAX_FETCH_WAIT_MS = 500;
/** How long commands wait after a venue was killed. */
const SESSION_TIMEOUT_MS = 10_000;

/** Reads commands and hands them to the venue, at least once and in the order of each order. */
export function createCommandConsumer(
  kafka: Kafka,
  receiver: CommandReceiver,
  options: CommandConsumerOptions,
  logger: Logger,
): { readonly start: () => Promise<void>; readonly stop: () => Promise<void> } {
  const consumer: Consumer = kafka.consumer({
    groupId: options.groupId,
    maxWaitTimeInMs: MAX_FETCH_WAIT_MS,
    sessionTimeout: SESSION_TIMEOUT_MS,
    allowAutoTopicCreation: false,
    retry: { ...CLIENT_RETRY, restartOnFailure: () => Promise.resolve(true) },
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) options.onFatal(payload.error);
  });
  return {
    start: async () => {
      await consumer.connect();
      await consumer.subscribe({ topics: [options.topic], fromBeginning: true });
      await consumer.run({
        eachMessage: ({ message }) => {
          receive(message, receiver, logger);
          return Promise.resolve();
        },
      });
    },
    stop: () => consumer.disconnect(),
  };
}

function receive(message: KafkaMessage, receiver: CommandReceiver, logger: Logger): void {
  const command = parseCommand(message.value);
  if ('fault' in command) {
    logger.warn(
      { fault: command.fault, offset: message.offset },
      'a command cannot be read and is passed over',
    );
    return;
  }
  receiver.receive(command.command, Number(message.timestamp));
}

function parseCommand(value: Buffer | null): { command: VenueCommand } | { fault: string } {
  let json: unknown;
  try {
    json = JSON.parse(value?.toString('utf8') ?? '');
  } catch {
    return { fault: 'it is not JSON' };
  }
  const parsed = venueCommand.safeParse(json);
  if (parsed.success) return { command: parsed.data };
  return {
    fault: fieldFaults(parsed.error)
      .map(({ field, message }) => `${field} ${message}`)
      .join('; '),
  };
}
