import { Partitioners, type Kafka, type Message } from 'kafkajs';

/** Kafka did not acknowledge in time. The messages may be there all the same; sending them again is the cure. */
export class KafkaUnavailableError extends Error {
  override readonly name = 'KafkaUnavailableError';
}

/** The broker refuses a message of this size; sending it again would change nothing. */
export class MessageTooLargeError extends Error {
  override readonly name = 'MessageTooLargeError';
}

/** A producer whose messages are on every in-sync replica when `send` resolves. */
export interface AcknowledgedProducer {
  /**
   * Sends in the given order. A repeat is possible after a lost acknowledgement, so every consumer of these topics
   * drops repeats.
   * @throws {KafkaUnavailableError} within the deadline.
   * @throws {MessageTooLargeError}
   */
  send(topic: string, messages: readonly Message[]): Promise<void>;
  close(): Promise<void>;
}

const ALL_IN_SYNC_REPLICAS = -1;

/**
 * Connects with the first message, so that a process starts (and says what is wrong) also while Kafka is away.
 *
 * The library's idempotent mode is not used: after an ambiguous time-out it can number two different sends alike,
 * and the broker then drops the second as a repeat of the first.
 */
export function createAcknowledgedProducer(kafka: Kafka, timeoutMs: number): AcknowledgedProducer {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  let connected: Promise<void> | undefined;
  const connect = (): Promise<void> => {
    connected ??= producer.connect().catch((error: unknown) => {
      connected = undefined;
      throw error;
    });
    return connected;
  };
  return {
    send: async (topic, messages) => {
      const work = connect().then(() =>
        producer.send({ topic, messages: [...messages], acks: ALL_IN_SYNC_REPLICAS, timeout: timeoutMs }),
      );
      await acknowledged(work, topic, timeoutMs);
    },
    close: async () => {
      await connected?.catch(() => undefined);
      await producer.disconnect();
    },
  };
}

async function acknowledged(work: Promise<unknown>, topic: string, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new KafkaUnavailableError(`Kafka did not acknowledge on topic ${topic} within ${timeoutMs} ms`));
    }, timeoutMs);
  });
  try {
    await Promise.race([work, deadline]);
  } catch (error) {
    throw sendError(error, topic);
  } finally {
    clearTimeout(timer);
  }
}

function sendError(error: unknown, topic: string): Error {
  if (error instanceof KafkaUnavailableError) return error;
  if (protocolErrorType(error) === 'MESSAGE_TOO_LARGE') {
    return new MessageTooLargeError(`topic ${topic} refuses a message of this size`, { cause: error });
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new KafkaUnavailableError(`Kafka did not take the message for topic ${topic}: ${reason}`, {
    cause: error,
  });
}

/** The protocol's name of an error; the library wraps it once or more. */
function protocolErrorType(error: unknown): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('type' in current && typeof current.type === 'string') return current.type;
  }
  return undefined;
}
