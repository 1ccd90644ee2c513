import type { ActivityDependencies, MaintenanceDependencies } from '../../activities';
import { loadConfig } from '../config';
import { runProcess } from '../lifecycle';
import { createLogger } from '../observability/logger';
import { createMetrics } from '../observability/metrics';
import { AnswerBoard } from '../temporal/answer-board';
import { connectWorker } from '../temporal/connection';
import { installRuntime } from '../temporal/runtime';
import { startBacklogSampling } from './backlog-sampling';
import { startMaintenance } from './maintenance';
import { startOrderProcessing } from './order-processing';
import { databaseCheck, openAdminServer, openPool } from './process-parts';

/** Runs workflows and activities, the scheduled ones too; nothing else. As many of these as the load needs. */
export async function runOrderWorker(
  wrap?: (deps: ActivityDependencies) => ActivityDependencies,
  wrapMaintenance?: (deps: MaintenanceDependencies) => MaintenanceDependencies,
): Promise<void> {
  const config = loadConfig();
  const logger = createLogger('order-worker', config.LOG_LEVEL);
  const metrics = createMetrics({ processMetrics: true });
  installRuntime(logger, { host: config.ADMIN_HOST, port: config.TEMPORAL_METRICS_PORT });
  await runProcess(logger, async (lifecycle, fail) => {
    const pool = openPool(lifecycle, config, logger, 'tekil order-worker');
    const temporal = await connectWorker(
      { address: config.TEMPORAL_ADDRESS, namespace: config.TEMPORAL_NAMESPACE },
      logger,
    );
    lifecycle.started('temporal connection', () => temporal.close());
    const board = new AnswerBoard();
    await startOrderProcessing(
      lifecycle,
      { config, logger, metrics, pool, temporal, board, ...(wrap === undefined ? {} : { wrap }) },
      fail,
    );
    const maintenance = { config, logger, metrics, temporal };
    await startMaintenance(
      lifecycle,
      { ...maintenance, ...(wrapMaintenance === undefined ? {} : { wrap: wrapMaintenance }) },
      fail,
    );
    startBacklogSampling(lifecycle, config, metrics, logger);
    await openAdminServer(lifecycle, config, { logger, metrics }, { database: databaseCheck(pool) });
  });
}

if (require.main === module) void runOrderWorker();
