import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import type { Activities } from '../../activities';
import { freePort } from '../../src/dev/ports';
import { orderWorkflowId } from '../../src/domain/ids';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics, type Metrics } from '../../src/observability/metrics';
import { connectWorker, type TemporalWorkerConnection } from '../../src/temporal/connection';
import { createOrderWorker } from '../../src/temporal/order-worker';
import { runWorker } from '../../src/temporal/worker-parts';
import { installRuntime } from '../../src/temporal/runtime';
import { workflowBundlePath } from '../../src/temporal/workflow-bundle';
import type { orderWorkflow } from '../../workflows';
import { executionsSignal } from '../../workflows/messages';
import { serverAddress } from '../support/environment';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { recordingActivities } from '../support/recording-activities';
import { waitFor } from '../support/wait-for';

const HOST = '127.0.0.1';

let port: number;
let temporal: TemporalWorkerConnection;

beforeAll(async () => {
  port = await freePort('tcp');
  installRuntime(silentLogger(), { host: HOST, port });
  temporal = await connectWorker(
    { address: serverAddress('TEMPORAL_ADDRESS'), namespace: 'default' },
    silentLogger(),
  );
});

afterAll(async () => {
  await temporal.close();
});

async function setup(activities: Activities) {
  const metrics = createMetrics();
  const taskQueue = `test-${randomUUID()}`;
  const worker = await createOrderWorker({
    connection: temporal.connection,
    namespace: 'default',
    taskQueue,
    workflowBundlePath: workflowBundlePath(),
    activities,
    metrics,
    poolSize: 4,
    shutdownGraceMs: 1_000,
    shutdownForceMs: 5_000,
  });
  const failures: unknown[] = [];
  const running = runWorker(worker, (error) => failures.push(error));
  return { metrics, taskQueue, stop: () => running.stop() };
}

/** What Prometheus would read. */
async function seriesOf(metrics: Metrics, name: string): Promise<string[]> {
  return (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(name));
}

describe('the metrics of a worker', () => {
  test('count the attempts that failed, and those that repeated another', async () => {
    let attempts = 0;
    const { activities } = recordingActivities('1', {
      applyExecutions: () => {
        attempts += 1;
        // The local attempt, the first visible one, and one more.
        if (attempts <= 3) {
          throw ApplicationFailure.create({ type: 'DatabaseUnavailable', message: 'no answer' });
        }
        return Promise.resolve({ orderExists: true, status: 'FILLED', cumulativeQuantity: '1' });
      },
    });
    const { metrics, taskQueue, stop } = await setup(activities);
    const command = anOpenOrder({ quantity: '1' });
    const handle = await temporal.client.workflow.start<typeof orderWorkflow>('orderWorkflow', {
      taskQueue,
      workflowId: orderWorkflowId(command.request),
      args: [{ command, venueAckTimeoutMs: 60_000, maxSignalsPerRun: 2_000 }],
    });
    await handle.signal(executionsSignal, [anExecutionOf(command, 'FILL')]);
    await handle.result();
    await stop();
    expect(await seriesOf(metrics, 'tekil_activity_retries_total')).toEqual([
      'tekil_activity_retries_total{activity="applyExecutions"} 2',
    ]);
    expect(await seriesOf(metrics, 'tekil_activity_failures_total')).toEqual([
      'tekil_activity_failures_total{activity="applyExecutions",type="DatabaseUnavailable"} 3',
    ]);
  });

  test('of the SDK are served on a port of their own, a run that cannot go on among them', async () => {
    const { taskQueue, stop } = await setup(recordingActivities().activities);
    const handle = await temporal.client.workflow.start('aWorkflowThatIsNotThere', {
      taskQueue,
      workflowId: `test-${randomUUID()}`,
    });
    const failed = await waitFor('the failed workflow task', async () => {
      const page = await (await fetch(`http://${HOST}:${port}/metrics`)).text();
      return page
        .split('\n')
        .find(
          (line) =>
            line.startsWith('temporal_workflow_task_execution_failed_total{') && line.includes(taskQueue),
        );
    });
    await handle.terminate();
    await stop();
    // What the alert groups by.
    expect(failed).toMatch(/\bfailure_reason="WorkflowError"/);
    expect(failed).toMatch(/\bworkflow_type="aWorkflowThatIsNotThere"/);
  });

  test('of the SDK need an address', () => {
    expect(() => {
      installRuntime(silentLogger(), { host: 'localhost', port: 9_465 });
    }).toThrow('ADMIN_HOST must be an IP address beside TEMPORAL_METRICS_PORT, not localhost');
  });
});
