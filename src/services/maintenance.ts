import { createMaintenanceActivities, type MaintenanceDependencies } from '../../activities';
import { checkDedupWindow } from '../../activities/check-dedup-window';
import type { Config } from '../config';
import type { PurgePlan } from '../db/purge-run';
import { createKafka } from '../kafka/client';
import { readTopicRetention } from '../kafka/topic-retention';
import { topicNames } from '../kafka/topics';
import type { Lifecycle } from '../lifecycle';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import type { TemporalWorkerConnection } from '../temporal/connection';
import { createMaintenanceWorker } from '../temporal/maintenance-worker';
import { runWorker } from '../temporal/worker-parts';
import { maintenanceTaskQueue } from '../temporal/schedules';
import { workflowBundlePath } from '../temporal/workflow-bundle';
import { openPool } from './process-parts';

const DAY_MS = 86_400_000;
/** The cleanup and the verification hold one each, and each may find its last one broken. */
const POOL_SIZE = 3;
/** Of the verification: a page of one position's fills. The purge sets shorter ones itself. */
const STATEMENT_TIMEOUT_MS = 60_000;
/** Every process shows the same within this, so that a setting that was mended does not look broken in some. */
const WINDOW_CHECK_INTERVAL_MS = 15 * 60_000;

/** A batch and the pause behind it, which may be as long, stay below the heartbeat's timeout. */
export const PURGE_SESSION = { lockTimeoutMs: 1_000, statementTimeoutMs: 10_000 };
const PURGE_PACE = { minRows: 100, slowMs: 500 };
const PURGE_MAX_RUN_MS = 10 * 60_000;

/** Of the verification; an attempt that is lost loses so much at most. */
const PAGE_POSITIONS = 500;

export interface Maintenance {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly temporal: TemporalWorkerConnection;
  /** Replaces parts of the activities; the fault tests end the process inside one. */
  readonly wrap?: (deps: MaintenanceDependencies) => MaintenanceDependencies;
}

/** Starts the worker of the scheduled workflows, and the check of the dedup window against the broker. */
export async function startMaintenance(
  lifecycle: Lifecycle,
  { config, logger, metrics, temporal, wrap = (deps) => deps }: Maintenance,
  fail: (error: unknown) => void,
): Promise<void> {
  const pool = openPool(
    lifecycle,
    { ...config, DATABASE_POOL_SIZE: POOL_SIZE, DATABASE_STATEMENT_TIMEOUT_MS: STATEMENT_TIMEOUT_MS },
    logger,
    'tekil maintenance',
  );
  const deps = wrap({ pool, metrics, logger, pagePositions: PAGE_POSITIONS, ...purgeOf(config, logger) });
  watchWindow(lifecycle, deps);
  const worker = await createMaintenanceWorker({
    connection: temporal.connection,
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: maintenanceTaskQueue(config.TEMPORAL_TASK_QUEUE),
    workflowBundlePath: config.WORKFLOW_BUNDLE_PATH ?? workflowBundlePath(),
    activities: createMaintenanceActivities(deps),
    metrics,
    shutdownGraceMs: config.WORKER_SHUTDOWN_GRACE_MS,
    shutdownForceMs: config.WORKER_SHUTDOWN_FORCE_MS,
  });
  const running = runWorker(worker, fail);
  lifecycle.started('maintenance worker', () => running.stop());
}

function purgeOf(
  config: Config,
  logger: Logger,
): Pick<MaintenanceDependencies, 'windowMs' | 'readRetention' | 'plan' | 'session'> {
  const kafka = createKafka(
    {
      brokers: config.KAFKA_BROKERS,
      clientId: 'tekil-maintenance',
      requestTimeoutMs: config.KAFKA_REQUEST_TIMEOUT_MS,
    },
    logger,
  );
  const topics = topicNames(config.KAFKA_TOPIC_PREFIX);
  const plan = purgePlan(config);
  return {
    windowMs: plan.windowMs.processed_events,
    readRetention: () => readTopicRetention(kafka, [topics.executions, topics.deadLetters] as const),
    session: PURGE_SESSION,
    plan,
  };
}

/** How the cleanup goes about it; the benchmark does the same. */
export function purgePlan(config: Config): PurgePlan {
  return {
    windowMs: {
      processed_events: config.DEDUP_WINDOW_DAYS * DAY_MS,
      idempotency_keys: config.DEDUP_KEY_WINDOW_DAYS * DAY_MS,
    },
    pace: { ...PURGE_PACE, maxRows: config.DEDUP_PURGE_BATCH_ROWS },
    maxBatches: config.DEDUP_PURGE_MAX_BATCHES,
    maxRunMs: PURGE_MAX_RUN_MS,
    pauseMs: config.DEDUP_PURGE_PAUSE_MS,
  };
}

/** A broker that does not answer now is asked again later, and by every run before it deletes anything. */
function watchWindow(lifecycle: Lifecycle, deps: MaintenanceDependencies): void {
  const check = (): void => {
    checkDedupWindow(deps).catch((error: unknown) => {
      deps.logger.warn(
        { err: error },
        'the broker did not say how long it keeps messages; asked again later',
      );
    });
  };
  check();
  const timer = setInterval(check, WINDOW_CHECK_INTERVAL_MS);
  lifecycle.started('watch over the dedup window', () => {
    clearInterval(timer);
    return Promise.resolve();
  });
}
