import { randomUUID } from 'node:crypto';
import type { Pool } from '../../src/db/pool';
import type { ExecutionEvent } from '../../src/contracts/execution-event';
import type { ExecutionBatch } from '../../src/contracts/execution-batch';
import { createDeadLetterProducer } from '../../src/kafka/dead-letter';
import { ExecutionConsumer } from '../../src/kafka/execution-consumer';
import type { ExecutionPorts } from '../../src/kafka/execution-slice';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics, type Metrics } from '../../src/observability/metrics';
import { connectExecutionPorts } from '../../src/services/execution-ports';
import { TemporalUnavailableError, type ExecutionGateway } from '../../src/temporal/order-gateway';
import { anEvent } from './execution-events';
import { createTestTopics, type TestTopics } from './kafka-topics';
import { createTestDatabase, type TestDatabase } from './test-database';
import { waitFor } from './wait-for';

/** Stands in for Temporal: remembers what it accepted, and can refuse. */
export class RecordingGateway implements ExecutionGateway {
  readonly accepted: ExecutionBatch[] = [];
  attempts = 0;
  /** Decides about each delivery before it is accepted. */
  before: (batch: ExecutionBatch) => Promise<void> | void = () => undefined;

  async deliver(batch: ExecutionBatch): Promise<'order'> {
    this.attempts += 1;
    await this.before(batch);
    this.accepted.push(batch);
    return 'order';
  }

  /** The ids of the accepted executions, in the order of their acceptance; of one order, or of all. */
  executionIds(clientOrderId?: string): string[] {
    return this.accepted
      .filter(({ key }) => clientOrderId === undefined || key.clientOrderId === clientOrderId)
      .flatMap(({ executions }) => executions.map(({ executionId }) => executionId));
  }
}

export function temporalIsAway(): never {
  throw new TemporalUnavailableError('no answer');
}

export interface RunningBridge {
  readonly consumer: ExecutionConsumer;
  readonly metrics: Metrics;
  readonly fatal: unknown[];
  stop(): Promise<void>;
}

export interface BridgeParts {
  readonly topics: TestTopics;
  readonly pool: Pool;
  readonly gateway: ExecutionGateway;
  readonly groupId: string;
  readonly parallelOrders?: number;
  readonly wrap?: (ports: ExecutionPorts) => ExecutionPorts;
}

/** The consumer of the fill-bridge as its composition root builds it, with the given gateway in Temporal's place. */
export async function startBridge(parts: BridgeParts): Promise<RunningBridge> {
  const { topics, pool, gateway, groupId, parallelOrders = 16, wrap } = parts;
  const metrics = createMetrics();
  const letters = createDeadLetterProducer(topics.kafka, {
    topic: topics.names.deadLetters,
    timeoutMs: 5_000,
  });
  const ports = connectExecutionPorts(pool, gateway, letters);
  const fatal: unknown[] = [];
  const onFatal = (error: unknown): void => {
    fatal.push(error);
  };
  const consumer = new ExecutionConsumer(
    topics.kafka,
    wrap?.(ports) ?? ports,
    { topic: topics.names.executions, groupId, parallelOrders, maxBackoffMs: 400, onFatal },
    metrics,
    silentLogger(),
  );
  await consumer.start();
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await consumer.stop();
    await letters.close();
  };
  return { consumer, metrics, fatal, stop: () => (stopping ??= stop()) };
}

/** The sum of a counter over those of its series that carry the given labels. */
export async function countOf(
  counter: { get(): Promise<{ values: { value: number; labels: object }[] }> },
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { values } = await counter.get();
  return values
    .filter((series) =>
      Object.entries(labels).every(([name, value]) => Reflect.get(series.labels, name) === value),
    )
    .reduce((sum, { value }) => sum + value, 0);
}

/** Topics, a group and a gateway of one test's own, and the bridges that it starts on them. */
export interface BridgeBench {
  readonly topics: TestTopics;
  readonly gateway: RecordingGateway;
  readonly groupId: string;
  start(overrides?: Partial<BridgeParts>): Promise<RunningBridge>;
  /** Resolves when the group's offsets stand at the end of `executions`. */
  everythingCommitted(groupId?: string, timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * A database for the test file that calls this, and a bench for each of its tests. What it returns may be used within
 * the tests.
 */
export function useBench(): BridgeBench & { readonly pool: Pool } {
  let database: TestDatabase;
  let bench: BridgeBench;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => {
    await database.drop();
  });
  beforeEach(async () => {
    bench = await openBench(database.pool);
  });
  afterEach(async () => {
    await bench.close();
  });
  return {
    get pool() {
      return database.pool;
    },
    get topics() {
      return bench.topics;
    },
    get gateway() {
      return bench.gateway;
    },
    get groupId() {
      return bench.groupId;
    },
    start: (overrides) => bench.start(overrides),
    everythingCommitted: (...args) => bench.everythingCommitted(...args),
    close: () => bench.close(),
  };
}

async function openBench(pool: Pool): Promise<BridgeBench> {
  const topics = await createTestTopics();
  const gateway = new RecordingGateway();
  const groupId = newGroupId();
  const bridges: RunningBridge[] = [];
  return {
    topics,
    gateway,
    groupId,
    start: async (overrides = {}) => {
      const bridge = await startBridge({ topics, pool, gateway, groupId, ...overrides });
      bridges.push(bridge);
      return bridge;
    },
    everythingCommitted: async (group = groupId, timeoutMs = 20_000) => {
      const committed = async (): Promise<boolean> => (await topics.lagOf(group)) === 0;
      await waitFor('all offsets to be committed', committed, timeoutMs);
    },
    close: async () => {
      await Promise.all(bridges.map((bridge) => bridge.stop()));
      await topics.drop();
    },
  };
}

export function newGroupId(): string {
  return `test-${randomUUID()}`;
}

/** Fills of several orders, one after the other round and round, with ids that tell their order's sequence. */
export function fillsOf(
  orders: number,
  fillsEach: number,
  accountId = `a-${randomUUID()}`,
): ExecutionEvent[] {
  const run = randomUUID().slice(0, 8);
  return Array.from({ length: orders * fillsEach }, (_, n) => {
    const order = n % orders;
    const executionId = `${run}-${order}-${Math.floor(n / orders)}`;
    return anEvent({ accountId, clientOrderId: `order-${order}`, executionId });
  });
}

/** The execution ids of some events, of one order or of all. */
export function idsOf(events: readonly ExecutionEvent[], clientOrderId?: string): string[] {
  return events
    .filter((event) => clientOrderId === undefined || event.clientOrderId === clientOrderId)
    .map(({ executionId }) => executionId);
}
