import { randomUUID } from 'node:crypto';
import { ConfigResourceTypes } from 'kafkajs';
import type { WorkflowFailedError } from '@temporalio/client';
import { applySchedules, maintenanceTaskQueue } from '../../src/temporal/schedules';
import { countProcessedEvents, DAY_MS, insertProcessedEvents, WINDOW_MS } from '../support/dedup-rows';
import { startSystem, type TestSystem } from '../support/system';
import { temporalClient, type OperatorClient } from '../support/temporal-client';
import { waitFor } from '../support/wait-for';

describe('the schedule of the cleanup, with a worker and a broker', () => {
  let system: TestSystem;
  let operator: OperatorClient;
  const prefix = `test-${randomUUID().slice(0, 8)}-`;
  beforeAll(async () => {
    system = await startSystem({ services: [] });
    operator = await temporalClient();
    const taskQueue = maintenanceTaskQueue(system.taskQueue);
    await applySchedules(operator.client, { namespace: 'default', taskQueue, prefix });
  });
  afterAll(async () => {
    for (const id of ['dedup-cleanup', 'positions-verify']) {
      await operator.client.schedule.getHandle(prefix + id).delete();
    }
    await operator.close();
    await system.stop();
  });

  const keepFor = (retentionMs: number): Promise<unknown> =>
    system.topics.admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: system.topics.names.executions,
          configEntries: [{ name: 'retention.ms', value: String(retentionMs) }],
        },
      ],
    });
  /** Fires a schedule, and waits for the run that it starts. */
  const fire = async (id: string): Promise<unknown> => {
    const handle = operator.client.schedule.getHandle(prefix + id);
    const before = (await handle.describe()).info.numActionsTaken;
    await handle.trigger('SKIP');
    const workflowId = await waitFor('the run', async () => {
      const { info } = await handle.describe();
      return info.numActionsTaken > before && info.recentActions.at(-1)?.action.workflow.workflowId;
    });
    return operator.client.workflow.getHandle(workflowId).result();
  };

  test('deletes while the window is long enough', async () => {
    await insertProcessedEvents(system.database.pool, 10, WINDOW_MS);
    const worker = await system.start('order-worker');
    await waitFor('the look at the broker', async () => {
      const response = await fetch(`http://127.0.0.1:${worker.adminPort}/metrics`);
      return (await response.text()).includes('tekil_dedup_guard_refusing 0');
    });
    expect(await fire('dedup-cleanup')).toMatchObject({ stopped: 'done', tables: [{ rows: 10 }, {}] });
    expect(await countProcessedEvents(system.database.pool)).toBe(0);
    expect(await fire('positions-verify')).toMatchObject({ positions: 0, done: true });
    expect(await worker.metric('tekil_positions_verifications_total', { outcome: 'equal' })).toBe(1);
    await worker.stop();
  });

  test('is refused as soon as the broker keeps messages for longer, at the start and in the run', async () => {
    await insertProcessedEvents(system.database.pool, 10, WINDOW_MS);
    await keepFor(24 * DAY_MS);
    const worker = await system.start('order-worker');
    await waitFor('the refusal', async () => (await worker.metric('tekil_dedup_guard_refusing')) === 1);
    expect(worker.log()).toContain('at least retention plus hold, 31 d');
    const failure = await fire('dedup-cleanup').then(
      () => undefined,
      (error: unknown) => (error as WorkflowFailedError).cause,
    );
    const { executions, deadLetters } = system.topics.names;
    expect(failure?.message).toContain(
      `window 30 d, retention of ${executions} 24 d, hold of ${deadLetters} 7 d`,
    );
    expect(await countProcessedEvents(system.database.pool)).toBe(10);
    await keepFor(7 * DAY_MS);
    expect(await fire('dedup-cleanup')).toMatchObject({ stopped: 'done' });
    expect(await worker.metric('tekil_dedup_guard_refusing')).toBe(0);
    await worker.stop();
  });
});
