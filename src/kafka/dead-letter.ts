import type { IHeaders, Kafka, Message } from 'kafkajs';
import { createAcknowledgedProducer, MessageTooLargeError } from './acknowledged-producer';

/** A message that could not be used, with the reason. */
export interface DeadLetter {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: IHeaders;
  readonly reason: string;
  readonly topic: string;
  readonly partition: number;
  /** 64-bit, hence text. */
  readonly offset: string;
}

export interface DeadLetterProducer {
  /**
   * Resolves when all are on every in-sync replica. After a crash they may be there twice; the three source headers
   * name the message.
   * @throws {KafkaUnavailableError} within the deadline.
   */
  publish(letters: readonly DeadLetter[]): Promise<void>;
  close(): Promise<void>;
}

/** What is kept of a value that the dead letter topic refuses to hold whole. */
const CUT_VALUE_BYTES = 65_536;

export function createDeadLetterProducer(
  kafka: Kafka,
  options: { readonly topic: string; readonly timeoutMs: number },
): DeadLetterProducer {
  const producer = createAcknowledgedProducer(kafka, options.timeoutMs);
  /** True when the broker took them; false when it finds them too large. */
  const accepts = async (messages: readonly Message[]): Promise<boolean> => {
    try {
      await producer.send(options.topic, messages);
      return true;
    } catch (error) {
      if (error instanceof MessageTooLargeError) return false;
      throw error;
    }
  };
  return {
    publish: async (letters) => {
      if (letters.length === 0 || (await accepts(letters.map(messageOf)))) return;
      for (const letter of letters) {
        if (!(await accepts([messageOf(letter)]))) await producer.send(options.topic, [cutMessageOf(letter)]);
      }
    },
    close: () => producer.close(),
  };
}

function messageOf(letter: DeadLetter): Message {
  return { key: letter.key, value: letter.value, headers: { ...letter.headers, ...sourceHeaders(letter) } };
}

/** Better a beginning than a message that blocks its partition for ever; the original stays in its own topic. */
function cutMessageOf(letter: DeadLetter): Message {
  return {
    key: letter.key?.subarray(0, CUT_VALUE_BYTES) ?? null,
    value: letter.value?.subarray(0, CUT_VALUE_BYTES) ?? null,
    headers: { ...sourceHeaders(letter), 'tekil-original-bytes': String(letter.value?.length ?? 0) },
  };
}

function sourceHeaders(letter: DeadLetter): Record<string, string> {
  return {
    'tekil-reason': letter.reason,
    'tekil-source-topic': letter.topic,
    'tekil-source-partition': String(letter.partition),
    'tekil-source-offset': letter.offset,
  };
}
