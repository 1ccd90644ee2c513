import { randomUUID } from 'node:crypto';
import type { ExecutionEvent } from '../../src/contracts/execution-event';
import { openOrder } from '../../src/db/open-order';
import { verifyPositions } from '../../src/db/verify-positions';
import type { OrderKey } from '../../src/domain/ids';
import { anEvent } from '../support/execution-events';
import { anOpenOrder } from '../support/orders';
import type { TestTopics } from '../support/kafka-topics';
import type { ServiceProcess } from '../support/service-process';
import { ACCEPTED_LATE, FREEZES_WITH } from '../support/slow-fill-bridge';
import { startSystem, type TestSystem } from '../support/system';
import { waitFor } from '../support/wait-for';

const ACCOUNTS = 4;
const ORDERS_PER_ACCOUNT = 10;
const ORDERS = ACCOUNTS * ORDERS_PER_ACCOUNT;
const EVENTS = 20_000;
/** Each tick publishes eight fills of each order. */
const EVENTS_PER_TICK = ORDERS * 8;
const TICK_MS = 1_000;
/** Held back until the group is whole again. The others take about as long as everything that happens until then. */
const LAST_EVENTS = 4_000;
/** Of a session of the group (15 s), and of the rebalance that its end brings. */
const EXPULSION_TIMEOUT_MS = 40_000;

/** The events of all orders, round and round, so that event n is the fill number n / ORDERS of its order. */
function eventsOf(orders: readonly OrderKey[]): ExecutionEvent[] {
  return Array.from({ length: EVENTS }, (_, n) =>
    anEvent({
      ...orders[n % ORDERS]!,
      executionId: `${n % ORDERS}-${Math.floor(n / ORDERS)}`,
      quantity: String(1 + (n % 7)),
      price: String(1 + (n % 11)),
    }),
  );
}

/** The ids of the executions in whose delivery the slow bridge stands still. */
function frozenWith(slow: ServiceProcess): string[] | undefined {
  const line = slow
    .log()
    .split('\n')
    .find((text) => text.startsWith(FREEZES_WITH));
  return line === undefined ? undefined : (JSON.parse(line.slice(FREEZES_WITH.length)) as string[]);
}

/** Publishes tick by tick until everything is out, or until the test is over. */
async function publishSlowly(
  topics: TestTopics,
  events: readonly ExecutionEvent[],
  over: AbortSignal,
): Promise<void> {
  for (let start = 0; start < events.length && !over.aborted; start += EVENTS_PER_TICK) {
    await topics.publishEvents(events.slice(start, start + EVENTS_PER_TICK));
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
}

/** The ids of the events below the given offsets, read by a group of its own. */
async function readBelow(topics: TestTopics, offsets: ReadonlyMap<number, number>): Promise<string[]> {
  const total = [...offsets.values()].reduce((sum, offset) => sum + Math.max(offset, 0), 0);
  const ids: string[] = [];
  const reader = topics.kafka.consumer({ groupId: `${topics.prefix}reader`, maxWaitTimeInMs: 100 });
  try {
    await reader.connect();
    await reader.subscribe({ topics: [topics.names.executions], fromBeginning: true });
    await reader.run({
      eachMessage: ({ partition, message }) => {
        if (Number(message.offset) < (offsets.get(partition) ?? 0))
          ids.push((JSON.parse(String(message.value)) as ExecutionEvent).executionId);
        return Promise.resolve();
      },
    });
    await waitFor('the committed events to be read', () => ids.length === total);
    return ids;
  } finally {
    await reader.disconnect();
  }
}

// https://github.com/spring-projects/spring-kafka/issues/3186, https://github.com/tulios/kafkajs/issues/922
describe('bridges that come, go, die and freeze while 20,000 executions flow', () => {
  let system: TestSystem;
  let worker: ServiceProcess;
  let group: string;
  const frozen: ServiceProcess[] = [];
  const over = new AbortController();
  beforeAll(async () => {
    system = await startSystem({ services: [] });
    worker = await system.start('order-worker');
    group = `${system.topics.prefix}bridge`;
  });
  afterAll(async () => {
    over.abort();
    // Whatever failed before: a frozen process would hear no stop.
    for (const service of frozen) service.thaw();
    await system.stop();
  });

  const bridge = (): Promise<ServiceProcess> => system.start('fill-bridge');

  const members = async (): Promise<number> => {
    const { groups } = await system.topics.admin.describeGroups([group]);
    return groups[0]?.state === 'Stable' ? groups[0].members.length : 0;
  };

  const groupIsOf = (count: number): Promise<unknown> =>
    waitFor(`a group of ${count}`, async () => (await members()) === count, EXPULSION_TIMEOUT_MS);

  const signals = (service: ServiceProcess): Promise<number> => service.metric('tekil_bridge_signals_total');

  const deliversMore = async (service: ServiceProcess): Promise<void> => {
    const before = await signals(service);
    await waitFor(`deliveries of ${service.name}`, async () => (await signals(service)) > before + 20);
  };

  const lag = (): Promise<number> => system.topics.lagOf(group);

  const committed = async (): Promise<Map<number, number>> => {
    const topics = [system.topics.names.executions];
    const [offsets] = await system.topics.admin.fetchOffsets({ groupId: group, topics });
    return new Map(offsets!.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  };

  const openOrders = async (): Promise<OrderKey[]> => {
    const keys: OrderKey[] = [];
    for (let n = 0; n < ORDERS; n += 1) {
      const accountId = `rebalance-${n % ACCOUNTS}`;
      const command = anOpenOrder({
        accountId,
        clientOrderId: `order-${n}-${randomUUID()}`,
        quantity: '100000',
      });
      await openOrder(system.database.pool, command, {});
      keys.push({ accountId, clientOrderId: command.request.clientOrderId });
    }
    return keys;
  };

  const processed = async (): Promise<Set<string>> => {
    const { rows } = await system.database.pool.query<{ id: string }>(
      'select event_id as "id" from processed_events',
    );
    return new Set(rows.map(({ id }) => id));
  };

  const areBooked = async (ids: readonly string[]): Promise<boolean> => {
    const booked = await processed();
    return ids.every((id) => booked.has(id));
  };

  /** With no bridge at work, what lies below the committed offsets can only come from what Temporal holds. */
  const committedIsHeld = async (): Promise<number> => {
    const ids = await readBelow(system.topics, await committed());
    await waitFor('the committed events to be booked', () => areBooked(ids));
    return ids.length;
  };

  /** What each order should hold: its fills in the order of the topic. */
  const expectBooked = async (
    orders: readonly OrderKey[],
    events: readonly ExecutionEvent[],
  ): Promise<void> => {
    const { rows } = await system.database.pool.query<{ order: string; ids: string[]; quantity: string }>(
      `select client_order_id as "order", array_agg(execution_id order by position_sequence) as "ids",
              sum(quantity)::text as "quantity"
       from fills group by 1`,
    );
    const booked = new Map(rows.map(({ order, ...fills }) => [order, fills]));
    expect(booked.size).toBe(ORDERS);
    orders.forEach(({ clientOrderId }) => {
      const own = events.filter((event) => event.clientOrderId === clientOrderId);
      const quantity = own.reduce((sum, event) => sum + Number(event.quantity), 0);
      const ids = own.map(({ executionId }) => executionId);
      expect(booked.get(clientOrderId)).toEqual({ ids, quantity: String(quantity) });
    });
    const differences: unknown[] = [];
    const positions = await verifyPositions(system.database.pool, undefined, (difference) =>
      differences.push(difference),
    );
    expect({ positions, differences }).toEqual({ positions: ACCOUNTS, differences: [] });
  };

  test('lose nothing, book nothing twice, and keep the order within an order', async () => {
    const orders = await openOrders();
    const events = eventsOf(orders);
    const doomed = await bridge();
    const slow = await system.start('fill-bridge', {}, 'test/support/slow-fill-bridge.ts');
    frozen.push(slow);
    await groupIsOf(2);
    const published = publishSlowly(system.topics, events.slice(0, -LAST_EVENTS), over.signal);

    await Promise.all([deliversMore(doomed), deliversMore(slow)]);
    await doomed.kill();
    // Until its session is over nobody reads its partitions; then the other one does.
    await groupIsOf(1);
    const joined = await bridge();
    await groupIsOf(2);
    await Promise.all([deliversMore(joined), deliversMore(slow)]);

    process.kill(slow.pid, 'SIGUSR2');
    const late = await waitFor('the slow one to freeze', () => frozenWith(slow));
    await groupIsOf(1);
    await deliversMore(joined);
    await joined.kill();
    expect(await committedIsHeld()).toBeGreaterThan(1_000);

    const heir = await bridge();
    await waitFor('others to book what the frozen one delivers', () => areBooked(late), 60_000);
    const repeats = await worker.metric('tekil_duplicate_executions_total');
    slow.thaw();
    await waitFor('the late delivery to be accepted', () => slow.log().includes(ACCEPTED_LATE));
    await waitFor(
      'the late delivery to be dropped as repeats',
      async () => (await worker.metric('tekil_duplicate_executions_total')) >= repeats + late.length,
    );
    await groupIsOf(2);
    expect(slow.log()).toContain('The coordinator is not aware of this member');
    await published;
    const lastPublished = publishSlowly(system.topics, events.slice(-LAST_EVENTS), over.signal);
    await Promise.all([deliversMore(heir), deliversMore(slow)]);
    await lastPublished;
    await waitFor('every event to be read', async () => (await lag()) === 0, 60_000);
    await waitFor('every event to be booked', async () => (await processed()).size === EVENTS, 60_000);
    await expectBooked(orders, events);
  }, 150_000);
});
