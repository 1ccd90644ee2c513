import { fillsOf, useBench } from '../support/execution-bridge';
import { waitFor } from '../support/wait-for';

const bench = useBench();

/** Alone on the broker: how soon it forgets a group's offsets, and a client notices a new topic, depends on what else it does. */
describe('the executions topic', () => {
  test('that is deleted and created again is read from its beginning', async () => {
    const before = fillsOf(10, 10);
    await bench.topics.publishEvents(before);
    const bridge = await bench.start();
    await bench.everythingCommitted();
    await bench.topics.admin.deleteTopics({ topics: [bench.topics.names.executions] });
    await waitFor('the new topic', () =>
      bench.topics.admin.createTopics({
        topics: [{ topic: bench.topics.names.executions, numPartitions: 3 }],
      }),
    );
    // The broker forgets a group's offsets a moment after the topic; docs/executions.md names the limit.
    await waitFor('the offsets to be forgotten', async () => {
      const topics = [bench.topics.names.executions];
      const [committed] = await bench.topics.admin.fetchOffsets({ groupId: bench.groupId, topics });
      // None is -1; a client that found its offset out of range writes -2, which the bridge reads as none too.
      return committed?.partitions.every(({ offset }) => offset.startsWith('-'));
    });
    const after = fillsOf(10, 30);
    await waitFor('the events to be published', async () => {
      await bench.topics.publishEvents(after);
      return true;
    });
    await waitFor('the new events', () => new Set(bench.gateway.executionIds()).size >= 400, 60_000);
    expect(bridge.fatal).toEqual([]);
  }, 90_000);
});
