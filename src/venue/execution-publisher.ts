import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionEvent } from '../contracts/execution-event';
import { orderWorkflowId } from '../domain/ids';
import type { AcknowledgedProducer } from '../kafka/acknowledged-producer';
import type { Logger } from '../observability/logger';

/** About a minute; a venue that loses an execution is worse than one that is late. */
const MAX_ATTEMPTS = 60;
const RETRY_INTERVAL_MS = 1_000;

/** What the venue publishes with: events under the key of their order, or any message a test asks for. */
export interface ExecutionPublisher {
  readonly publish: (events: readonly ExecutionEvent[]) => Promise<void>;
  readonly publishRaw: (
    message: { readonly key: string; readonly value: string },
    times: number,
  ) => Promise<void>;
}

export function createExecutionPublisher(
  producer: AcknowledgedProducer,
  topic: string,
  logger: Logger,
): ExecutionPublisher {
  return {
    publish: async (events) => {
      const messages = events.map((event) => ({
        key: orderWorkflowId(event),
        value: JSON.stringify(event),
      }));
      for (let attempt = 1; ; attempt += 1) {
        try {
          await producer.send(topic, messages);
          return;
        } catch (error) {
          if (attempt >= MAX_ATTEMPTS) throw error;
          logger.warn({ err: error, attempt }, 'executions could not be published yet');
          await sleep(RETRY_INTERVAL_MS, undefined, { ref: false });
        }
      }
    },
    publishRaw: (message, times) =>
      producer.send(
        topic,
        Array.from({ length: times }, () => message),
      ),
  };
}
