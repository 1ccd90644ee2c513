import type { ActivityDependencies } from '../../activities';
import { loadConfig } from '../config';
import { startApiServer } from '../http/server';
import { readPayload } from '../kafka/parse-execution';
import { runProcess } from '../lifecycle';
import { createLogger } from '../observability/logger';
import { createMetrics } from '../observability/metrics';
import { AnswerBoard } from '../temporal/answer-board';
import { connectWorker } from '../temporal/connection';
import { createExecutionGateway } from '../temporal/execution-gateway';
import { installRuntime } from '../temporal/runtime';
import { createOrderGateway } from '../temporal/temporal-order-gateway';
import { startOrderProcessing } from './order-processing';
import { databaseCheck, openAdminServer, openPool } from './process-parts';

/** The HTTP API, and in it a worker that takes the first task of each order which the API starts. */
export async function runOrderApi(
  wrap?: (deps: ActivityDependencies) => ActivityDependencies,
): Promise<void> {
  const config = loadConfig();
  const logger = createLogger('order-api', config.LOG_LEVEL);
  const metrics = createMetrics({ processMetrics: true });
  installRuntime(logger, { host: config.ADMIN_HOST, port: config.TEMPORAL_METRICS_PORT });
  await runProcess(logger, async (lifecycle, fail) => {
    const pool = openPool(lifecycle, config, logger, 'tekil order-api');
    const temporal = await connectWorker(
      { address: config.TEMPORAL_ADDRESS, namespace: config.TEMPORAL_NAMESPACE },
      logger,
    );
    lifecycle.started('temporal connection', () => temporal.close());
    const board = new AnswerBoard();
    if (config.ORDER_API_WORKER) {
      const parts = {
        config,
        logger,
        metrics,
        pool,
        temporal,
        board,
        ...(wrap === undefined ? {} : { wrap }),
      };
      await startOrderProcessing(lifecycle, parts, fail);
    }
    const gateway = createOrderGateway(temporal.client, board, {
      taskQueue: config.TEMPORAL_TASK_QUEUE,
      rpcTimeoutMs: config.TEMPORAL_RPC_TIMEOUT_MS,
      workflowTaskTimeoutMs: config.WORKFLOW_TASK_TIMEOUT_MS,
      venueAckTimeoutMs: config.VENUE_ACK_TIMEOUT_MS,
      maxSignalsPerRun: config.ORDER_MAX_SIGNALS_PER_RUN,
      eagerStart: config.ORDER_API_WORKER,
    });
    const executions = createExecutionGateway(temporal.client, {
      taskQueue: config.TEMPORAL_TASK_QUEUE,
      rpcTimeoutMs: config.TEMPORAL_RPC_TIMEOUT_MS,
    });
    const parts = { config, pool, gateway, executions, readPayload, metrics, logger };
    const server = await startApiServer(parts);
    lifecycle.started('api server', () => server.close());
    logger.info({ host: config.API_HOST, port: server.port }, 'the API is served');
    await openAdminServer(lifecycle, config, { logger, metrics }, { database: databaseCheck(pool) });
  });
}

if (require.main === module) void runOrderApi();
