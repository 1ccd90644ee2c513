import { randomUUID } from 'node:crypto';
import type { ExecutionEvent } from '../../src/contracts/execution-event';
import { createAcknowledgedProducer } from '../../src/kafka/acknowledged-producer';
import { countOf, fillsOf, idsOf, useBench } from '../support/execution-bridge';
import { aMessage, anEvent } from '../support/execution-events';
import { waitFor } from '../support/wait-for';

const bench = useBench();

/** Longer than a raised number of partitions stays unseen. */
const NEW_PARTITIONS_TIMEOUT_MS = 60_000;

/** An event of an order that no other test has, and the same with other members, as text. */
function anOwnEvent(change: Readonly<Record<string, unknown>> = {}): {
  readonly event: ExecutionEvent;
  readonly text: string;
} {
  const event = anEvent({ clientOrderId: `h-${randomUUID()}`, executionId: randomUUID() });
  return { event, text: JSON.stringify({ ...event, ...change }) };
}

async function faultsOf(clientOrderId: string): Promise<{ detail: string; payload: string }[]> {
  const { rows } = await bench.pool.query<{ detail: string; payload: string }>(
    'select detail, payload from quarantined_events where client_order_id = $1 order by id',
    [clientOrderId],
  );
  return rows;
}

/** What is published instead of a valid event, and the reason that is told. */
const NOT_THE_CONTRACT: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
  ['an unknown field', { lastQty: '1' }, /lastQty/],
  ['a status report with a quantity', { type: 'STATUS' }, /^type /],
  ['funding with a quantity', { type: 'FUNDING' }, /^type /],
  ['a restatement with a quantity', { type: 'RESTATED' }, /^type /],
  ['an acknowledgement with a quantity', { type: 'NEW' }, /quantity must be left out for type NEW/],
  ['a cancel with a quantity', { type: 'CANCELLED' }, /quantity must be left out for type CANCELLED/],
  ['a reject with a quantity', { type: 'REJECTED' }, /quantity must be left out for type REJECTED/],
  ['an expiry with a quantity', { type: 'EXPIRED' }, /quantity must be left out for type EXPIRED/],
  [
    'a bust with a quantity',
    { type: 'BUST', refExecutionId: 'E-0', price: undefined },
    /quantity must be left out for type BUST/,
  ],
  ['a fill of nothing', { quantity: '0.000' }, /quantity must be above zero/],
  ['a fill of less than nothing', { quantity: '-5' }, /quantity must be above zero/],
  // https://github.com/nautechsystems/nautilus_trader/releases: a venue that leaves the trade id empty.
  ['an empty execution id', { executionId: '' }, /executionId must be 1 to 256 characters/],
  ['a time before 1970', { executedAt: '1969-12-31T23:59:59.999Z' }, /executedAt .* years 1970 to 9999/],
  ['a time after 9999', { executedAt: '+010000-01-01T00:00:00Z' }, /executedAt .* years 1970 to 9999/],
  ['a time that its zone takes beyond 9999', { executedAt: '9999-12-31T23:30:00-01:00' }, /executedAt/],
  ['a time in milliseconds', { executedAt: 253_402_300_799_000 }, /executedAt/],
];

describe('what says something other than the contract', () => {
  test('is put aside with the reason, one by one, and what follows each goes on', async () => {
    const sent = NOT_THE_CONTRACT.map(([name, change, reason]) => ({ name, reason, ...anOwnEvent(change) }));
    for (const { event, text } of sent) {
      await bench.topics.publish([{ key: aMessage(event).key, value: text }, aMessage(event)]);
    }
    const bridge = await bench.start();
    await bench.everythingCommitted();
    for (const { name, reason, event, text } of sent) {
      const faults = await faultsOf(event.clientOrderId);
      expect({ name, faults }).toEqual({
        name,
        faults: [{ detail: expect.stringMatching(reason) as string, payload: text }],
      });
    }
    const valid = idsOf(sent.map(({ event }) => event));
    expect(bench.gateway.executionIds().toSorted()).toEqual(valid.toSorted());
    expect(await countOf(bridge.metrics.quarantinedEvents, { reason: 'malformed' })).toBe(sent.length);
  });

  test('an id beyond 2^53 as a JSON number is refused, told why, and kept with every digit', async () => {
    const { event, text } = anOwnEvent();
    const asNumber = text.replace(JSON.stringify(event.executionId), '9007199254740993');
    await bench.topics.publish([
      { key: aMessage(event).key, value: asNumber },
      aMessage({ ...event, executionId: '9007199254740993' }),
    ]);
    await bench.start();
    await bench.everythingCommitted();
    const [fault] = await faultsOf(event.clientOrderId);
    expect(fault?.detail).toBe(
      'executionId must be a string; a JSON number is refused because ids beyond 2^53 would be changed by reading them',
    );
    expect(fault?.payload).toContain('"executionId":9007199254740993,');
    expect(bench.gateway.executionIds()).toEqual(['9007199254740993']);
  });
});

// https://github.com/hugodemenez/deltalytix/pull/507
test('one fill from the history, live and from a replay, its side said in three ways, is one fill', async () => {
  const { event } = anOwnEvent();
  const copies = (['buy', 'BUY', '1'] as const).map((side) => ({ ...event, side }));
  await bench.topics.publishEvents(copies);
  const bridge = await bench.start();
  await bench.everythingCommitted();
  expect(bench.gateway.accepted.flatMap(({ executions }) => executions.map(({ side }) => side))).toEqual([
    'buy',
  ]);
  expect(await countOf(bridge.metrics.duplicateExecutions, { type: 'FILL' })).toBe(2);
});

test.each([['1970-01-01T00:00:00Z'], ['9999-12-31T23:59:59.999999999Z']])(
  'an execution of %s is delivered with its stamp as it is',
  async (executedAt) => {
    const { event } = anOwnEvent();
    await bench.topics.publishEvents([{ ...event, executedAt }]);
    await bench.start();
    await bench.everythingCommitted();
    const stamps = bench.gateway.accepted.flatMap(({ executions }) => executions);
    expect(stamps.map((execution) => execution.executedAt)).toEqual([executedAt]);
  },
);

test('a producer that stamps its records with 1970 or 9999 does not decide how long the topic keeps them', async () => {
  const { event } = anOwnEvent();
  const startedAt = Date.now();
  const message = aMessage(event);
  await bench.topics.publish([
    { ...message, timestamp: '0' },
    { ...message, timestamp: '253402300799999' },
  ]);
  await bench.start();
  await bench.everythingCommitted();
  expect(bench.gateway.executionIds()).toEqual([event.executionId]);
  const records = await bench.topics.read(bench.topics.names.executions, 2);
  for (const { timestamp } of records) {
    expect(Number(timestamp)).toBeGreaterThan(startedAt - 60_000);
    expect(Number(timestamp)).toBeLessThan(startedAt + 60_000);
  }
});

test(
  'a partition count that is raised while the bridge runs is noticed, and no event of a new partition is missed',
  async () => {
    const before = fillsOf(20, 5);
    await bench.topics.publishEvents(before);
    const bridge = await bench.start();
    await bench.everythingCommitted();
    await bench.topics.admin.createPartitions({
      topicPartitions: [{ topic: bench.topics.names.executions, count: 7 }],
    });
    const after = fillsOf(60, 3);
    await waitFor('the new partitions to take events', async () => {
      const offsets = await bench.topics.admin.fetchTopicOffsets(bench.topics.names.executions);
      return offsets.length === 7;
    });
    await publishToEvery(after);
    await waitFor(
      'every event to be delivered',
      () => bench.gateway.executionIds().length === before.length + after.length,
      NEW_PARTITIONS_TIMEOUT_MS,
    );
    expect(bench.gateway.executionIds().toSorted()).toEqual(idsOf([...before, ...after]).toSorted());
    await bench.everythingCommitted();
    expect(bridge.fatal).toEqual([]);
  },
  NEW_PARTITIONS_TIMEOUT_MS + 30_000,
);

/** By a producer that knows of the new partitions, each order to one of its own. */
async function publishToEvery(events: readonly ExecutionEvent[]): Promise<void> {
  const producer = createAcknowledgedProducer(bench.topics.kafka, 10_000);
  const messages = events.map((event) => ({
    ...aMessage(event),
    partition: Number(event.clientOrderId.replace('order-', '')) % 7,
  }));
  try {
    await producer.send(bench.topics.names.executions, messages);
  } finally {
    await producer.close();
  }
}
