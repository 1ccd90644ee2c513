import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { ExecutionEvent } from '../../src/contracts/execution-event';
import { fillsOf, idsOf, useBench } from '../support/execution-bridge';
import { aMessage } from '../support/execution-events';

const PROGRAM = join(__dirname, '../support/recreate-topic.ts');
const ORDERS = 10;
const FILLS_EACH = 10;
/** The consumer has noticed that the topic is gone, and tries again. */
const NOTICED_MS = 300;

const bench = useBench();

/** While the program runs, nothing else does in this process: the consumer meets the new topic when it is filled. */
function createAnew(events: readonly ExecutionEvent[]): void {
  const { brokers, names } = bench.topics;
  const messages = events
    .map((event) => aMessage(event))
    .map(({ key, value }) => ({ key: String(key), value: String(value) }));
  const order = { brokers, topic: names.executions, groupId: bench.groupId, partitions: 3, messages };
  execFileSync(process.execPath, ['--import', 'tsx', PROGRAM, JSON.stringify(order)], { timeout: 40_000 });
}

/** Alone on the broker: how soon it forgets a group's offsets, and a client notices a new topic, depends on what else it does. */
describe('the executions topic that is deleted and created again is read from its beginning', () => {
  test.each([
    ['ends before the offset that was committed', 4],
    ['ends exactly at the offset that was committed', FILLS_EACH],
    ['goes on behind the offset that was committed', 30],
  ])(
    'when each partition %s',
    async (_end, fillsEach) => {
      const before = fillsOf(ORDERS, FILLS_EACH);
      await bench.topics.publishEvents(before);
      const bridge = await bench.start();
      await bench.everythingCommitted();
      await bench.topics.admin.deleteTopics({ topics: [bench.topics.names.executions] });
      await new Promise((resolve) => setTimeout(resolve, NOTICED_MS));
      // The same account and orders: each order's events go to the partition to which they went before.
      const after = fillsOf(ORDERS, fillsEach, before[0]?.accountId);
      createAnew(after);
      await bench.everythingCommitted();
      expect(new Set(bench.gateway.executionIds())).toEqual(new Set([...idsOf(before), ...idsOf(after)]));
      expect(bridge.fatal).toEqual([]);
    },
    90_000,
  );
});
