import type { Kafka } from 'kafkajs';
import type { VenueCommand } from '../contracts/venue-command';
import { orderWorkflowId } from '../domain/ids';
import type { Metrics } from '../observability/metrics';
import { createAcknowledgedProducer } from './acknowledged-producer';

export interface VenueCommandProducer {
  /**
   * Resolves when the command is on every in-sync replica. Publishing it again is harmless: bridges act on
   * (accountId, clientOrderId, command) once.
   * @throws {KafkaUnavailableError} within the deadline; nothing is known to have happened.
   */
  publish(command: VenueCommand): Promise<void>;
  close(): Promise<void>;
}

export interface VenueCommandProducerOptions {
  readonly topic: string;
  /** For one command, connecting included. */
  readonly timeoutMs: number;
}

export function createVenueCommandProducer(
  kafka: Kafka,
  options: VenueCommandProducerOptions,
  metrics: Metrics,
): VenueCommandProducer {
  const producer = createAcknowledgedProducer(kafka, options.timeoutMs);
  return {
    publish: async (command) => {
      await producer.send(options.topic, [{ key: orderWorkflowId(command), value: JSON.stringify(command) }]);
      metrics.venueCommands.inc({ command: command.command });
    },
    close: () => producer.close(),
  };
}
