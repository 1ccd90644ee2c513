import { randomUUID } from 'node:crypto';
import type { ExecutionEvent } from '../../src/contracts/execution-event';
import { createPool } from '../../src/db/pool';
import { findProcessed } from '../../src/db/processed-events';
import { executionContentHash } from '../../src/domain/execution-hash';
import { parseExecution } from '../../src/kafka/parse-execution';
import { silentLogger } from '../../src/observability/logger';
import {
  countOf,
  RecordingGateway,
  startBridge,
  temporalIsAway,
  type BridgeParts,
  type RunningBridge,
} from '../support/execution-bridge';
import { aMessage, anAcknowledgement, anEvent } from '../support/execution-events';
import { createTestTopics, type TestTopics } from '../support/kafka-topics';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { waitFor } from '../support/wait-for';

let database: TestDatabase;
let topics: TestTopics;
let groupId: string;
let gateway: RecordingGateway;
let bridges: RunningBridge[];

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(async () => {
  await database.drop();
});

beforeEach(async () => {
  topics = await createTestTopics();
  groupId = `test-${randomUUID()}`;
  gateway = new RecordingGateway();
  bridges = [];
});

afterEach(async () => {
  await Promise.all(bridges.map((bridge) => bridge.stop()));
  await topics.drop();
});

async function start(overrides: Partial<BridgeParts> = {}): Promise<RunningBridge> {
  const bridge = await startBridge({ topics, pool: database.pool, gateway, groupId, ...overrides });
  bridges.push(bridge);
  return bridge;
}

/** Fills of several orders, one after the other round and round, with ids that tell their order's sequence. */
function fillsOf(orders: number, fillsEach: number): ExecutionEvent[] {
  const account = `a-${randomUUID()}`;
  return Array.from({ length: orders * fillsEach }, (_, n) => {
    const order = n % orders;
    const executionId = `${account}-${order}-${Math.floor(n / orders)}`;
    return anEvent({ accountId: account, clientOrderId: `order-${order}`, executionId });
  });
}

const idsOf = (events: readonly ExecutionEvent[]) => events.map(({ executionId }) => executionId);

/** What the transaction of applyExecutions leaves behind for the look-up. */
async function markProcessed(events: readonly ExecutionEvent[]): Promise<void> {
  for (const event of events) {
    const parsed = parseExecution(aMessage(event));
    if (parsed.kind !== 'execution') throw new Error(parsed.fault);
    await database.pool.query(
      `insert into processed_events (source, event_type, event_id, content_hash, event_time)
       values ($1, $2, $3, decode($4, 'hex'), $5)`,
      [event.source, event.type, event.executionId, executionContentHash(parsed.execution), event.executedAt],
    );
  }
}

const everythingCommitted = () =>
  waitFor('all offsets to be committed', async () => (await topics.lagOf(groupId)) === 0);

async function quarantined(topic = topics.names.executions) {
  const { rows } = await database.pool.query<{
    detail: string;
    payload: string;
    execution_id: string | null;
    topic_offset: string;
    times_seen: number;
  }>('select * from quarantined_events where topic = $1 order by topic_partition, topic_offset', [topic]);
  return rows;
}

describe('delivery', () => {
  test('executions reach their orders in order, and then the offsets are committed', async () => {
    const events = fillsOf(20, 15);
    await topics.publishEvents(events);
    await start();
    await everythingCommitted();
    for (let order = 0; order < 20; order += 1) {
      const expected = idsOf(events.filter(({ clientOrderId }) => clientOrderId === `order-${order}`));
      expect(gateway.executionIds(`order-${order}`)).toEqual(expected);
    }
  });

  test('a flood of one order goes in bounded signals and stays in order', async () => {
    const events = fillsOf(1, 2_500);
    await topics.publishEvents(events);
    await start();
    await everythingCommitted();
    expect(gateway.executionIds('order-0')).toEqual(idsOf(events));
    expect(Math.max(...gateway.accepted.map(({ executions }) => executions.length))).toBe(100);
  });

  test('repeats within the topic are dropped and counted', async () => {
    const events = fillsOf(2, 3);
    await topics.publishEvents([...events, ...events, ...events]);
    const bridge = await start();
    await everythingCommitted();
    expect(gateway.executionIds().toSorted()).toEqual(idsOf(events).toSorted());
    expect(await countOf(bridge.metrics.duplicateExecutions, { source: 'SIM', type: 'FILL' })).toBe(12);
  });

  test('a known id with other content is not dropped: the transaction has to judge it', async () => {
    const [event] = fillsOf(1, 1) as [ExecutionEvent];
    await markProcessed([event]);
    await topics.publishEvents([event, { ...event, price: '99' }]);
    await start();
    await everythingCommitted();
    expect(gateway.accepted.flatMap(({ executions }) => executions.map(({ price }) => price))).toEqual([
      '99',
    ]);
  });

  test('a replay of the whole topic under a new group delivers nothing and counts every event', async () => {
    const events = fillsOf(30, 40);
    await topics.publishEvents(events);
    await start();
    await everythingCommitted();
    await markProcessed(events);
    const delivered = gateway.accepted.length;

    groupId = `test-${randomUUID()}`;
    const bridge = await start({ groupId });
    await everythingCommitted();
    expect(gateway.accepted.length).toBe(delivered);
    expect(await countOf(bridge.metrics.duplicateExecutions)).toBe(events.length);
    expect(await countOf(bridge.metrics.bridgeMessages, { verdict: 'duplicate' })).toBe(events.length);
  });
});

describe('what cannot be used', () => {
  test('a malformed message goes to the quarantine and to the dead letters, and the next one goes on', async () => {
    const [event] = fillsOf(1, 1) as [ExecutionEvent];
    const key = aMessage(event).key;
    await topics.publish([
      { key, value: JSON.stringify({ ...event, quantity: 1 }), headers: { origin: 'bridge-7' } },
      aMessage(event),
    ]);
    const bridge = await start();
    await everythingCommitted();

    expect(gateway.executionIds()).toEqual([event.executionId]);
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
    const [letter] = await topics.read(topics.names.deadLetters, 1);
    expect(letter?.key).toEqual(key);
    expect(letter?.value?.toString()).toBe(JSON.stringify({ ...event, quantity: 1 }));
    const headers = Object.entries(letter?.headers ?? {}).map(([name, value]) => [name, String(value)]);
    expect(Object.fromEntries(headers)).toEqual({
      origin: 'bridge-7',
      'tekil-reason': expect.stringContaining('quantity must be a decimal string') as string,
      'tekil-source-topic': topics.names.executions,
      'tekil-source-partition': expect.stringMatching(/^[0-2]$/) as string,
      'tekil-source-offset': '0',
    });
    expect(await countOf(bridge.metrics.quarantinedEvents, { reason: 'malformed' })).toBe(1);
  });

  test('hostile messages of every kind are put aside without holding up what follows', async () => {
    await topics.admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: 2, // a topic
          name: topics.names.executions,
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
    for (const message of hostile) await topics.publish([message]);
    await topics.publish([aMessage(event)]);
    const bridge = await start();
    await everythingCommitted();
    expect(gateway.executionIds()).toEqual([event.executionId]);
    expect(bridge.fatal).toEqual([]);
    expect((await quarantined()).length).toBe(hostile.length);
    const letters = await topics.read(topics.names.deadLetters, hostile.length);
    expect(letters.map((letter) => letter.value?.length ?? 0).toSorted((a, b) => a - b)).toEqual(
      hostile.map((message) => message.value?.length ?? 0).toSorted((a, b) => a - b),
    );
  });

  test('a dead letter that its topic finds too large is cut, and nothing stops', async () => {
    await topics.admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: 2, // a topic
          name: topics.names.deadLetters,
          configEntries: [{ name: 'max.message.bytes', value: '200000' }],
        },
      ],
    });
    const event = anEvent({ clientOrderId: `h-${randomUUID()}`, executionId: randomUUID() });
    const value = Buffer.from('x'.repeat(500_000));
    await topics.publish([{ key: aMessage(event).key, value }, aMessage(event)]);
    await start();
    await everythingCommitted();
    const [letter] = await topics.read(topics.names.deadLetters, 1);
    expect(letter?.value?.length).toBe(65_536);
    expect(String(letter?.headers?.['tekil-original-bytes'])).toBe('500000');
    expect(gateway.executionIds()).toEqual([event.executionId]);
  });

  test('the same malformed content met again raises its count; reading the topic again does not', async () => {
    const event = anEvent({ executionId: randomUUID() });
    const message = { key: aMessage(event).key, value: JSON.stringify({ ...event, side: 'long' }) };
    await topics.publish([message, message]);
    await topics.publish([message]);
    await start();
    await everythingCommitted();
    expect(await quarantined()).toEqual([expect.objectContaining({ times_seen: 3, topic_offset: '2' })]);

    groupId = `test-${randomUUID()}`;
    await start({ groupId });
    await everythingCommitted();
    expect(await quarantined()).toEqual([expect.objectContaining({ times_seen: 3 })]);
  });
});

describe('when a server does not answer', () => {
  test('while Temporal is away nothing is committed; when it is back nothing was lost', async () => {
    const events = fillsOf(40, 5);
    await topics.publishEvents(events);
    gateway.before = temporalIsAway;
    const bridge = await start({ parallelOrders: 4 });
    await waitFor('several attempts', async () => (await countOf(bridge.metrics.bridgeRetries)) >= 6);
    expect(await topics.lagOf(groupId)).toBe(events.length);
    expect(await countOf(bridge.metrics.bridgeRetries, { cause: 'temporal' })).toBeGreaterThanOrEqual(6);
    await expect(bridge.consumer.check()).resolves.toBeUndefined();

    gateway.before = () => undefined;
    await everythingCommitted();
    expect(gateway.executionIds().toSorted()).toEqual(idsOf(events).toSorted());
    expect(bridge.fatal).toEqual([]);
  });

  test('a long outage does not try every order of the batch again and again', async () => {
    await topics.publishEvents(fillsOf(300, 1));
    gateway.before = temporalIsAway;
    const bridge = await start({ parallelOrders: 4 });
    await waitFor('several attempts', async () => (await countOf(bridge.metrics.bridgeRetries)) >= 3);
    const batches = await countOf(bridge.metrics.bridgeRetries);
    // Four may fail and four more may be under way when the fourth does; one batch may be in the middle of it.
    expect(gateway.attempts).toBeLessThanOrEqual((batches + 3) * 8);
  });

  test('while PostgreSQL is away nothing is delivered or committed; when it is back nothing was lost', async () => {
    const events = fillsOf(10, 5);
    await topics.publishEvents(events);
    const nowhere = createPool(
      {
        connectionString: 'postgres://nobody@127.0.0.1:1/none',
        size: 1,
        statementTimeoutMs: 500,
        connectTimeoutMs: 500,
        applicationName: 'test',
      },
      silentLogger(),
    );
    let away = true;
    const bridge = await start({
      wrap: (ports) => ({
        ...ports,
        findProcessed: (identities) =>
          away ? findProcessed(nowhere, identities) : ports.findProcessed(identities),
      }),
    });
    await waitFor(
      'several attempts',
      async () => (await countOf(bridge.metrics.bridgeRetries, { cause: 'postgresql' })) >= 4,
    );
    expect(gateway.attempts).toBe(0);
    expect(await topics.lagOf(groupId)).toBe(events.length);
    away = false;
    await everythingCommitted();
    expect(gateway.executionIds().toSorted()).toEqual(idsOf(events).toSorted());
    expect(bridge.fatal).toEqual([]);
    await nowhere.end();
  });

  test('an order that fails holds nobody else up, and nobody is delivered to twice for it', async () => {
    const events = fillsOf(12, 10);
    await topics.publishEvents(events);
    let failures = 0;
    gateway.before = ({ key }) => {
      if (key.clientOrderId !== 'order-0' || failures >= 5) return;
      failures += 1;
      temporalIsAway();
    };
    const bridge = await start();
    await waitFor('the other orders', () => gateway.executionIds().length >= 110);
    await everythingCommitted();
    expect(failures).toBe(5);
    for (let order = 0; order < 12; order += 1) {
      const expected = idsOf(events.filter(({ clientOrderId }) => clientOrderId === `order-${order}`));
      expect(gateway.executionIds(`order-${order}`)).toEqual(expected);
    }
    expect(await countOf(bridge.metrics.bridgeMessages, { verdict: 'delivered' })).toBe(events.length);
    expect(await countOf(bridge.metrics.duplicateExecutions)).toBe(0);
  });

  test('an error that waiting does not cure ends the process instead of stopping in silence', async () => {
    await topics.publishEvents(fillsOf(1, 1));
    gateway.before = () => {
      throw new TypeError('a fault of the program');
    };
    const bridge = await start();
    await waitFor('the fatal error', () => bridge.fatal.length > 0);
    expect(bridge.fatal[0]).toEqual(new TypeError('a fault of the program'));
    expect(await topics.lagOf(groupId)).toBe(1);
  });
});

describe('membership', () => {
  test('two consumers, one of which leaves in the middle, deliver everything in order', async () => {
    const events = fillsOf(30, 100);
    gateway.before = () => new Promise((resolve) => setTimeout(resolve, 5));
    const [leaving, staying] = [await start({ parallelOrders: 4 }), await start({ parallelOrders: 4 })];
    await topics.publishEvents(events);
    await waitFor('some deliveries', () => gateway.executionIds().length > 300);
    await leaving.stop();
    await everythingCommitted();
    expect(staying.fatal).toEqual([]);
    for (let order = 0; order < 30; order += 1) {
      const expected = idsOf(events.filter(({ clientOrderId }) => clientOrderId === `order-${order}`));
      expect([...new Set(gateway.executionIds(`order-${order}`))]).toEqual(expected);
    }
  });

  test('a stop finishes what is under way, commits it, and starts nothing new', async () => {
    const events = fillsOf(50, 1);
    await topics.publishEvents(events);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    gateway.before = () => held;
    const bridge = await start({ parallelOrders: 2 });
    await waitFor('a delivery under way', () => gateway.attempts >= 2);
    const stopped = bridge.stop();
    release();
    await stopped;
    expect(gateway.attempts).toBeLessThan(10);
    expect(gateway.accepted.length).toBe(gateway.attempts);
    expect(await topics.lagOf(groupId)).toBeLessThan(events.length);

    await start();
    await everythingCommitted();
    expect([...new Set(gateway.executionIds())].toSorted()).toEqual(idsOf(events).toSorted());
  });

  test('a consumer that was stopped is not alive', async () => {
    const bridge = await start();
    await expect(bridge.consumer.check()).resolves.toBeUndefined();
    await bridge.stop();
    await expect(bridge.consumer.check()).rejects.toThrow(groupId);
  });

  test('a partition count that is raised is noticed after a restart and no event is missed', async () => {
    await topics.publishEvents(fillsOf(5, 2));
    const first = await start();
    await everythingCommitted();
    await first.stop();
    await topics.admin.createPartitions({ topicPartitions: [{ topic: topics.names.executions, count: 5 }] });
    await start();
    const events = fillsOf(40, 1);
    await topics.publishEvents(events);
    await everythingCommitted();
    expect(gateway.executionIds()).toEqual(expect.arrayContaining(idsOf(events)));
  });

  test('a topic that is deleted and created again is read from its beginning', async () => {
    const before = fillsOf(10, 10);
    await topics.publishEvents(before);
    const bridge = await start();
    await everythingCommitted();
    await topics.admin.deleteTopics({ topics: [topics.names.executions] });
    await waitFor('the new topic', () =>
      topics.admin.createTopics({ topics: [{ topic: topics.names.executions, numPartitions: 3 }] }),
    );
    const after = fillsOf(10, 30);
    await waitFor('the events to be published', async () => {
      await topics.publishEvents(after);
      return true;
    });
    await waitFor('the new events', () => new Set(gateway.executionIds()).size >= 400, 60_000);
    expect(bridge.fatal).toEqual([]);
  }, 90_000);
});

test('an acknowledgement and a fill of one id are two events', async () => {
  const [fill] = fillsOf(1, 1) as [ExecutionEvent];
  const { accountId, clientOrderId, executionId } = fill;
  await topics.publishEvents([anAcknowledgement({ accountId, clientOrderId, executionId }), fill]);
  await start();
  await everythingCommitted();
  expect(gateway.accepted.flatMap(({ executions }) => executions.map(({ type }) => type))).toEqual([
    'NEW',
    'FILL',
  ]);
});
