import type { Pool } from '../../src/db/pool';
import type { ExecutionBatch } from '../../src/contracts/execution-batch';
import { createDeadLetterProducer } from '../../src/kafka/dead-letter';
import { ExecutionConsumer } from '../../src/kafka/execution-consumer';
import type { ExecutionPorts } from '../../src/kafka/execution-slice';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics, type Metrics } from '../../src/observability/metrics';
import { connectExecutionPorts } from '../../src/services/execution-ports';
import { TemporalUnavailableError, type ExecutionGateway } from '../../src/temporal/order-gateway';
import type { TestTopics } from './kafka-topics';

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
  const { topics, pool, gateway, groupId, parallelOrders = 16, wrap = (ports) => ports } = parts;
  const metrics = createMetrics();
  const letters = createDeadLetterProducer(topics.kafka, {
    topic: topics.names.deadLetters,
    timeoutMs: 5_000,
  });
  const fatal: unknown[] = [];
  const onFatal = (error: unknown): void => {
    fatal.push(error);
  };
  const consumer = new ExecutionConsumer(
    topics.kafka,
    wrap(connectExecutionPorts(pool, gateway, letters)),
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
