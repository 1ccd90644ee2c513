import type { Consumer } from 'kafkajs';
import type { ExecutionEvent } from '../../src/contracts/execution-event';
import type { VenueCommand } from '../../src/contracts/venue-command';
import type { TestTopics } from './kafka-topics';
import { waitFor } from './wait-for';

/** The venue's end of the two topics: sees every command, and says what the test tells it to. */
export interface TestVenue {
  /** Every command of an order, repeats included, in the order of the topic. */
  commands(clientOrderId: string): VenueCommand['command'][];
  awaitCommand(clientOrderId: string, command: VenueCommand['command']): Promise<VenueCommand>;
  report(...events: readonly ExecutionEvent[]): Promise<void>;
  close(): Promise<void>;
}

export async function createTestVenue(topics: TestTopics): Promise<TestVenue> {
  const seen: VenueCommand[] = [];
  const consumer: Consumer = topics.kafka.consumer({ groupId: `${topics.prefix}venue` });
  await consumer.connect();
  await consumer.subscribe({ topics: [topics.names.venueCommands], fromBeginning: true });
  await consumer.run({
    eachMessage: ({ message }) => {
      seen.push(JSON.parse(String(message.value)) as VenueCommand);
      return Promise.resolve();
    },
  });
  return {
    commands: (id) => seen.filter(({ clientOrderId }) => clientOrderId === id).map(({ command }) => command),
    awaitCommand: (id, command) =>
      waitFor(`${command} of ${id} to reach the venue`, () =>
        seen.find((each) => each.clientOrderId === id && each.command === command),
      ),
    report: (...events) => topics.publishEvents(events),
    close: async () => {
      await consumer.disconnect();
    },
  };
}
