import { createActivities, type ActivityDependencies } from '../../activities';
import type { Config } from '../config';
import type { Pool } from '../db/pool';
import { createKafka } from '../kafka/client';
import { topicNames } from '../kafka/topics';
import { createVenueCommandProducer } from '../kafka/venue-command-producer';
import type { Lifecycle } from '../lifecycle';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import { createGateClient } from '../quotes/gate-client';
import type { AnswerBoard } from '../temporal/answer-board';
import type { TemporalWorkerConnection } from '../temporal/connection';
import { createOrderWorker } from '../temporal/order-worker';
import { runWorker } from '../temporal/worker-parts';
import { workflowBundlePath } from '../temporal/workflow-bundle';
import { requireDedupLayout } from './process-parts';

/** What a worker of orders is made of; order-api and order-worker compose it alike. */
export interface OrderProcessing {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly pool: Pool;
  readonly temporal: TemporalWorkerConnection;
  readonly board: AnswerBoard;
  /** Replaces parts of the activities; the fault tests end the process inside one. */
  readonly wrap?: (deps: ActivityDependencies) => ActivityDependencies;
}

/** Starts the worker with its activities. `fail` hears of an end that nobody asked for. */
export async function startOrderProcessing(
  lifecycle: Lifecycle,
  parts: OrderProcessing,
  fail: (error: unknown) => void,
): Promise<void> {
  const { config, logger, metrics, pool, board, temporal } = parts;
  await requireDedupLayout(lifecycle, pool, logger, fail);
  const wrap = parts.wrap ?? ((deps: ActivityDependencies) => deps);
  const kafka = createKafka(
    {
      brokers: config.KAFKA_BROKERS,
      clientId: 'tekil-orders',
      requestTimeoutMs: config.KAFKA_REQUEST_TIMEOUT_MS,
    },
    logger,
  );
  const producer = createVenueCommandProducer(
    kafka,
    {
      topic: topicNames(config.KAFKA_TOPIC_PREFIX).venueCommands,
      timeoutMs: config.KAFKA_PUBLISH_TIMEOUT_MS,
    },
    metrics,
  );
  lifecycle.started('venue command producer', () => producer.close());

  const gate = createGateClient({
    url: config.QUOTE_GATE_URL,
    timeoutMs: config.QUOTE_GATE_TIMEOUT_MS,
    onFailover: (change) => {
      logger.warn(change, 'another quote gate answers from now on');
    },
  });
  const activities = createActivities(
    wrap({
      pool,
      metrics,
      askGate: (symbol) => gate.askGate(symbol),
      publishCommand: (command) => producer.publish(command),
      announceAnswer: (key, answer) => {
        board.announce(key, answer);
      },
    }),
  );
  const worker = await createOrderWorker({
    connection: temporal.connection,
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: config.TEMPORAL_TASK_QUEUE,
    workflowBundlePath: config.WORKFLOW_BUNDLE_PATH ?? workflowBundlePath(),
    activities,
    metrics,
    poolSize: config.DATABASE_POOL_SIZE,
    shutdownGraceMs: config.WORKER_SHUTDOWN_GRACE_MS,
    shutdownForceMs: config.WORKER_SHUTDOWN_FORCE_MS,
  });
  const running = runWorker(worker, fail);
  lifecycle.started('worker', () => running.stop());
}
