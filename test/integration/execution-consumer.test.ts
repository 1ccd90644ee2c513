import { randomUUID } from 'node:crypto';
import { ConfigResourceTypes } from 'kafkajs';
import type { ExecutionEvent } from '../../src/contracts/execution-event';
import { executionContentHash } from '../../src/domain/execution-hash';
import { parseExecution } from '../../src/kafka/parse-execution';
import { countOf, fillsOf, idsOf, newGroupId, useBench } from '../support/execution-bridge';
import { aMessage, anAcknowledgement, anEvent } from '../support/execution-events';

const bench = useBench();

/** What the transaction of applyExecutions leaves behind for the look-up. */
async function markProcessed(events: readonly ExecutionEvent[]): Promise<void> {
  for (const event of events) {
    const parsed = parseExecution(aMessage(event));
    if (parsed.kind !== 'execution') throw new Error(parsed.fault);
    await bench.pool.query(
      `insert into processed_events (source, event_type, event_id, content_hash, event_time)
       values ($1, $2, $3, decode($4, 'hex'), $5)`,
      [event.source, event.type, event.executionId, executionContentHash(parsed.execution), event.executedAt],
    );
  }
}

async function quarantined() {
  const { rows } = await bench.pool.query<{
    detail: string;
    payload: string;
    execution_id: string | null;
    topic_offset: string;
    times_seen: number;
  }>('select * from quarantined_events where topic = $1 order by topic_partition, topic_offset', [
    bench.topics.names.executions,
  ]);
  return rows;
}

describe('delivery', () => {
  test('executions reach their orders in order, and then the offsets are committed', async () => {
    const events = fillsOf(20, 15);
    await bench.topics.publishEvents(events);
    await bench.start();
    await bench.everythingCommitted();
    for (let order = 0; order < 20; order += 1) {
      const expected = idsOf(events, `order-${order}`);
      expect(bench.gateway.executionIds(`order-${order}`)).toEqual(expected);
    }
  });

  test('a flood of one order goes in bounded signals and stays in order', async () => {
    const events = fillsOf(1, 2_500);
    await bench.topics.publishEvents(events);
    await bench.start();
    await bench.everythingCommitted();
    expect(bench.gateway.executionIds('order-0')).toEqual(idsOf(events));
    expect(Math.max(...bench.gateway.accepted.map(({ executions }) => executions.length))).toBe(100);
  });

  test('repeats within the topic are dropped and counted', async () => {
    const events = fillsOf(2, 3);
    await bench.topics.publishEvents([...events, ...events, ...events]);
    const bridge = await bench.start();
    await bench.everythingCommitted();
    expect(bench.gateway.executionIds().toSorted()).toEqual(idsOf(events).toSorted());
    expect(await countOf(bridge.metrics.duplicateExecutions, { source: 'SIM', type: 'FILL' })).toBe(12);
  });

  test('a known id with other content is not dropped: the transaction has to judge it', async () => {
    const [event] = fillsOf(1, 1) as [ExecutionEvent];
    await markProcessed([event]);
    await bench.topics.publishEvents([event, { ...event, price: '99' }]);
    await bench.start();
    await bench.everythingCommitted();
    expect(bench.gateway.accepted.flatMap(({ executions }) => executions.map(({ price }) => price))).toEqual([
      '99',
    ]);
  });

  test('a replay of the whole topic under a new group delivers nothing and counts every event', async () => {
    const events = fillsOf(30, 40);
    await bench.topics.publishEvents(events);
    await bench.start();
    await bench.everythingCommitted();
    await markProcessed(events);
    const delivered = bench.gateway.accepted.length;

    const groupId = newGroupId();
    const bridge = await bench.start({ groupId });
    await bench.everythingCommitted(groupId);
    expect(bench.gateway.accepted.length).toBe(delivered);
    expect(await countOf(bridge.metrics.duplicateExecutions)).toBe(events.length);
    expect(await countOf(bridge.metrics.bridgeMessages, { verdict: 'duplicate' })).toBe(events.length);
  });
});

describe('what cannot be used', () => {
  test('a malformed message goes to the quarantine and to the dead letters, and the next one goes on', async () => {
    const [event] = fillsOf(1, 1) as [ExecutionEvent];
    const key = aMessage(event).key;
    await bench.topics.publish([
      { key, value: JSON.stringify({ ...event, quantity: 1 }), headers: { origin: 'bridge-7' } },
      aMessage(event),
    ]);
    const bridge = await bench.start();
    await bench.everythingCommitted();

    expect(bench.gateway.executionIds()).toEqual([event.executionId]);
    expect(await quarantined()).toEqual([
      expect.objectContaining({
        reason: 'malformed',
        detail: expect.stringContaining('quantity must be a decimal string') as string,
        payload: JSON.stringify({ ...event, quantity: 1 }),
        account_id: event.accountId,
        execution_id: event.executionId,
        times_seen: 1,
      }),
    ]);
    const [letter] = await bench.topics.read(bench.topics.names.deadLetters, 1);
    expect(letter?.key).toEqual(key);
    expect(letter?.value?.toString()).toBe(JSON.stringify({ ...event, quantity: 1 }));
    const headers = Object.entries(letter?.headers ?? {}).map(([name, value]) => [name, String(value)]);
    expect(Object.fromEntries(headers)).toEqual({
      origin: 'bridge-7',
      'tekil-reason': expect.stringContaining('quantity must be a decimal string') as string,
      'tekil-source-topic': bench.topics.names.executions,
      'tekil-source-partition': expect.stringMatching(/^[0-2]$/) as string,
      'tekil-source-offset': '0',
    });
    expect(await countOf(bridge.metrics.quarantinedEvents, { reason: 'malformed' })).toBe(1);
  });

  test('hostile messages of every kind are put aside without holding up what follows', async () => {
    await bench.topics.admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: bench.topics.names.executions,
          configEntries: [{ name: 'max.message.bytes', value: '20000000' }],
        },
      ],
    });
    const event = anEvent({ clientOrderId: `h-${randomUUID()}`, executionId: randomUUID() });
    const { key, value } = aMessage(event);
    const hostile = [
      { key, value: null },
      { key: null, value },
      { key: Buffer.alloc(0), value },
      { key, value: Buffer.alloc(0) },
      { key, value: Buffer.from([0xff, 0xfe, 0x00, 0x7b]) },
      { key, value: Buffer.from('{"a\0b":1}') },
      { key, value: Buffer.from(JSON.stringify({ ...event, 'x\0\ud800': 1, source: 'S\0\udc00' })) },
      { key, value: Buffer.from('['.repeat(200_000)) },
      { key, value: Buffer.from('[1,"two",null]') },
      { key: Buffer.from([0xff, 0x00]), value },
      { key, value: Buffer.from(JSON.stringify({ ...event, reason: 'x'.repeat(5_000_000) })) },
    ];
    for (const message of hostile) await bench.topics.publish([message]);
    await bench.topics.publish([aMessage(event)]);
    const bridge = await bench.start();
    await bench.everythingCommitted();
    expect(bench.gateway.executionIds()).toEqual([event.executionId]);
    expect(bridge.fatal).toEqual([]);
    expect((await quarantined()).length).toBe(hostile.length);
    const letters = await bench.topics.read(bench.topics.names.deadLetters, hostile.length);
    expect(letters.map((letter) => letter.value?.length ?? 0).toSorted((a, b) => a - b)).toEqual(
      hostile.map((message) => message.value?.length ?? 0).toSorted((a, b) => a - b),
    );
  });

  test('a dead letter that its topic finds too large is cut, and nothing stops', async () => {
    await bench.topics.admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: bench.topics.names.deadLetters,
          configEntries: [{ name: 'max.message.bytes', value: '200000' }],
        },
      ],
    });
    const event = anEvent({ clientOrderId: `h-${randomUUID()}`, executionId: randomUUID() });
    const value = Buffer.from('x'.repeat(500_000));
    await bench.topics.publish([{ key: aMessage(event).key, value }, aMessage(event)]);
    await bench.start();
    await bench.everythingCommitted();
    const [letter] = await bench.topics.read(bench.topics.names.deadLetters, 1);
    expect(letter?.value?.length).toBe(65_536);
    expect(String(letter?.headers?.['tekil-original-bytes'])).toBe('500000');
    expect(bench.gateway.executionIds()).toEqual([event.executionId]);
  });

  test('the same malformed content met again raises its count; reading the topic again does not', async () => {
    const event = anEvent({ executionId: randomUUID() });
    const message = { key: aMessage(event).key, value: JSON.stringify({ ...event, side: 'long' }) };
    await bench.topics.publish([message, message]);
    await bench.topics.publish([message]);
    await bench.start();
    await bench.everythingCommitted();
    expect(await quarantined()).toEqual([expect.objectContaining({ times_seen: 3, topic_offset: '2' })]);

    const groupId = newGroupId();
    await bench.start({ groupId });
    await bench.everythingCommitted(groupId);
    expect(await quarantined()).toEqual([expect.objectContaining({ times_seen: 3 })]);
  });
});

test('an acknowledgement and a fill of one id are two events', async () => {
  const [fill] = fillsOf(1, 1) as [ExecutionEvent];
  const { accountId, clientOrderId, executionId } = fill;
  await bench.topics.publishEvents([anAcknowledgement({ accountId, clientOrderId, executionId }), fill]);
  await bench.start();
  await bench.everythingCommitted();
  expect(bench.gateway.accepted.flatMap(({ executions }) => executions.map(({ type }) => type))).toEqual([
    'NEW',
    'FILL',
  ]);
});
