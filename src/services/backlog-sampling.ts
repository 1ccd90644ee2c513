import type { Config } from '../config';
import {
  estimateDedupRows,
  oldestProcessedEventAge,
  openParked,
  openQuarantine,
  QUARANTINE_REASONS,
} from '../db/backlog';
import type { Pool } from '../db/pool';
import type { Lifecycle } from '../lifecycle';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import { startSampler, type Sample } from '../observability/sampler';
import { openPool } from './process-parts';

/** Far more than any of the statements needs; one that needs it is not worth its figure. */
const STATEMENT_TIMEOUT_MS = 1_000;
const SECONDS_A_DAY = 86_400;

/**
 * Measures what waits in the database, from a connection of its own, so that it never takes one from an activity.
 * Started by order-worker alone: a process more of the API must not be a measurement more.
 */
export function startBacklogSampling(
  lifecycle: Lifecycle,
  config: Config,
  metrics: Metrics,
  logger: Logger,
): void {
  const pool = openPool(
    lifecycle,
    { ...config, DATABASE_POOL_SIZE: 1, DATABASE_STATEMENT_TIMEOUT_MS: STATEMENT_TIMEOUT_MS },
    logger,
    'tekil backlog sampler',
  );
  const samples = [
    dedupSample(pool, metrics, config.DEDUP_WINDOW_DAYS * SECONDS_A_DAY),
    quarantineSample(pool, metrics),
    parkedSample(pool, metrics),
  ];
  const sampler = startSampler(samples, config.SAMPLE_INTERVAL_MS, metrics, logger);
  lifecycle.started('backlog sampler', () => sampler.stop());
}

function dedupSample(pool: Pool, metrics: Metrics, windowSeconds: number): Sample {
  const { dedupRows, dedupOldestRowAgeSeconds, dedupPurgeLagSeconds } = metrics;
  const oldest = { table: 'processed_events' };
  return {
    name: 'dedup',
    take: async () => {
      const rows = await estimateDedupRows(pool);
      const age = await oldestProcessedEventAge(pool);
      for (const [table, count] of rows) dedupRows.set({ table }, count);
      // Nothing there means nothing old, and not that nobody looked.
      dedupOldestRowAgeSeconds.set(oldest, age ?? 0);
      dedupPurgeLagSeconds.set(oldest, Math.max(0, (age ?? 0) - windowSeconds));
    },
    forget: () => {
      dedupRows.reset();
      dedupOldestRowAgeSeconds.reset();
      dedupPurgeLagSeconds.reset();
    },
  };
}

function quarantineSample(pool: Pool, metrics: Metrics): Sample {
  const { quarantinedEventsOpen, quarantineOldestAgeSeconds } = metrics;
  return {
    name: 'quarantine',
    take: async () => {
      const { countByReason, oldestAge } = await openQuarantine(pool);
      for (const reason of QUARANTINE_REASONS) {
        quarantinedEventsOpen.set({ reason }, countByReason.get(reason) ?? 0);
      }
      quarantineOldestAgeSeconds.set(oldestAge ?? 0);
    },
    forget: () => {
      quarantinedEventsOpen.reset();
      quarantineOldestAgeSeconds.remove();
    },
  };
}

function parkedSample(pool: Pool, metrics: Metrics): Sample {
  const { parkedExecutionsOpen, parkedOldestAgeSeconds } = metrics;
  return {
    name: 'parked',
    take: async () => {
      const { count, oldestAge } = await openParked(pool);
      parkedExecutionsOpen.set(count);
      parkedOldestAgeSeconds.set(oldestAge ?? 0);
    },
    forget: () => {
      parkedExecutionsOpen.remove();
      parkedOldestAgeSeconds.remove();
    },
  };
}
