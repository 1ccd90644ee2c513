import { randomUUID } from 'node:crypto';
import type { OrderKey } from '../../src/domain/ids';
import { lateExecutionsWorkflowId, orderWorkflowId } from '../../src/domain/ids';
import { createExecutionGateway } from '../../src/temporal/execution-gateway';
import { TemporalUnavailableError } from '../../src/temporal/order-gateway';
import { temporalClient, type OperatorClient } from '../support/temporal-client';

/** Of the server, for one run. */
const MAX_SIGNALS = 10_000;
const PARALLEL_SIGNALS = 32;

describe('handing executions over to Temporal', () => {
  let operator: OperatorClient;
  const taskQueue = `test-${randomUUID()}`;
  beforeAll(async () => {
    operator = await temporalClient();
  });
  afterAll(async () => {
    await operator.close();
  });

  const gateway = () => createExecutionGateway(operator.client, { taskQueue, rpcTimeoutMs: 10_000 });

  const aKey = (): OrderKey => ({ accountId: 'acme', clientOrderId: randomUUID() });

  const goesToLateRun = async (key: OrderKey): Promise<void> => {
    expect(await gateway().deliver({ key, executions: [] })).toBe('late');
    const late = operator.client.workflow.getHandle(lateExecutionsWorkflowId(key));
    expect((await late.describe()).status.name).toBe('RUNNING');
    await late.terminate('the test is over');
  };

  test('the executions of an order without a run go to its late run, which their signal starts', async () => {
    const key = aKey();
    await goesToLateRun(key);
  });

  test('a run that holds as many signals as the server allows is an outage of that order, and no fault', async () => {
    const key = aKey();
    // No worker is there, so that signals pile up.
    const run = await operator.client.workflow.start('orderWorkflow', {
      taskQueue,
      workflowId: orderWorkflowId(key),
      args: [{}],
    });
    let sent = 0;
    const refusals: unknown[] = [];
    const send = async (): Promise<void> => {
      while (refusals.length === 0 && sent <= MAX_SIGNALS) {
        sent += 1;
        await gateway()
          .deliver({ key, executions: [] })
          .catch((error: unknown) => refusals.push(error));
      }
    };
    try {
      await Promise.all(Array.from({ length: PARALLEL_SIGNALS }, send));
      expect(refusals[0]).toBeInstanceOf(TemporalUnavailableError);
      expect(String(refusals[0])).toContain(`${orderWorkflowId(key)} takes no more signals`);
      await goesToLateRun(aKey());
    } finally {
      await run.terminate('the test is over');
    }
  });
});
