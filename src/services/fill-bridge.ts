import { loadConfig } from '../config';
import { createDeadLetterProducer } from '../kafka/dead-letter';
import { ExecutionConsumer } from '../kafka/execution-consumer';
import type { ExecutionPorts } from '../kafka/execution-slice';
import { runProcess } from '../lifecycle';
import { createLogger } from '../observability/logger';
import { createMetrics } from '../observability/metrics';
import { connectClient } from '../temporal/connection';
import { createExecutionGateway } from '../temporal/execution-gateway';
import { connectExecutionPorts } from './execution-ports';
import { openKafka } from './kafka-parts';
import { startLagSampling } from './lag-sampling';
import { databaseCheck, openAdminServer, openPool, requireDedupLayout } from './process-parts';

/** Reads executions from Kafka and hands each to the run of its order. */
export async function runFillBridge(wrap?: (ports: ExecutionPorts) => ExecutionPorts): Promise<void> {
  const config = loadConfig();
  const logger = createLogger('fill-bridge', config.LOG_LEVEL);
  const metrics = createMetrics({ processMetrics: true });
  await runProcess(logger, async (lifecycle, fail) => {
    const pool = openPool(lifecycle, config, logger, 'tekil fill-bridge');
    await requireDedupLayout(lifecycle, pool, logger, fail);
    const temporal = await connectClient(
      { address: config.TEMPORAL_ADDRESS, namespace: config.TEMPORAL_NAMESPACE },
      logger,
    );
    lifecycle.started('temporal connection', () => temporal.close());
    const gateway = createExecutionGateway(temporal.client, {
      taskQueue: config.TEMPORAL_TASK_QUEUE,
      rpcTimeoutMs: config.TEMPORAL_RPC_TIMEOUT_MS,
    });
    const { kafka, topics } = await openKafka(config, logger, 'tekil-fill-bridge');
    startLagSampling(lifecycle, config, { kafka, topic: topics.executions }, metrics, logger);
    const letters = createDeadLetterProducer(kafka, {
      topic: topics.deadLetters,
      timeoutMs: config.KAFKA_REQUEST_TIMEOUT_MS,
    });
    lifecycle.started('dead letter producer', () => letters.close());
    const ports = connectExecutionPorts(pool, gateway, letters);
    const options = {
      topic: topics.executions,
      groupId: config.KAFKA_EXECUTIONS_GROUP_ID,
      parallelOrders: config.BRIDGE_PARALLEL_ORDERS,
      maxBackoffMs: config.BRIDGE_MAX_BACKOFF_MS,
      onFatal: fail,
    };
    const consumer = new ExecutionConsumer(kafka, wrap?.(ports) ?? ports, options, metrics, logger);
    lifecycle.started('execution consumer', () => consumer.stop());
    await consumer.start();
    const checks = { database: databaseCheck(pool), executions: () => consumer.check() };
    await openAdminServer(lifecycle, config, { logger, metrics }, checks);
  });
}

if (require.main === module) void runFillBridge();
