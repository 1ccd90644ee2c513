import type { WorkflowHandleWithStartDetails } from '@temporalio/client';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import type { Execution } from '../../src/domain/execution';
import { lateExecutionsWorkflowId, orderWorkflowId } from '../../src/domain/ids';
import type { lateExecutionsWorkflow, orderWorkflow } from '../../workflows';
import { cancelUpdate, cancelUpdateId, executionsSignal, orderRunQuery } from '../../workflows/messages';
import { recordingActivities } from '../support/recording-activities';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { connectHarness, type TemporalHarness } from '../support/temporal-harness';
import { waitFor } from '../support/wait-for';

describe('an order workflow', () => {
  let harness: TemporalHarness;
  beforeEach(async () => {
    harness = await connectHarness();
  });
  afterEach(async () => {
    await harness.close();
  });

  const start = (
    command: OpenOrderCommand,
    { venueAckTimeoutMs = 60_000, maxSignalsPerRun = 2_000 } = {},
  ): Promise<WorkflowHandleWithStartDetails<typeof orderWorkflow>> =>
    harness.client.workflow.start<typeof orderWorkflow>('orderWorkflow', {
      taskQueue: harness.taskQueue,
      workflowId: orderWorkflowId(command.request),
      workflowTaskTimeout: 3_000,
      args: [{ command, venueAckTimeoutMs, maxSignalsPerRun }],
    });

  test('opens, sends, books its fills and ends when it is filled', async () => {
    const { activities, recorded } = recordingActivities('3');
    await harness.startWorker(activities);
    const command = anOpenOrder({ quantity: '3' });
    const handle = await start(command);
    await handle.signal(executionsSignal, [anExecutionOf(command, 'NEW')]);
    await handle.signal(executionsSignal, [anExecutionOf(command, 'FILL'), anExecutionOf(command, 'FILL')]);
    await handle.signal(executionsSignal, [anExecutionOf(command, 'FILL')]);
    expect(await handle.result()).toEqual({ outcome: 'opened', status: 'FILLED', cumulativeQuantity: '3' });
    expect(recorded.opened).toEqual([command.requestId]);
    expect(recorded.commands).toEqual(['NEW_ORDER']);
    expect(recorded.executionIds).toHaveLength(4);
  });

  test('that could not be sent as it was opened is sent by a step of its own', async () => {
    const { activities, recorded } = recordingActivities('1', {}, false);
    await harness.startWorker(activities);
    const command = anOpenOrder({ quantity: '1' });
    const handle = await start(command);
    await waitFor('the order to be sent', () => recorded.commands.includes('NEW_ORDER'));
    await handle.signal(executionsSignal, [anExecutionOf(command, 'FILL')]);
    await handle.result();
    expect(recorded.commands).toEqual(['NEW_ORDER']);
  });

  test('that is refused sends nothing and ends', async () => {
    const { activities, recorded } = recordingActivities('1', {
      openOrder: () =>
        Promise.resolve({
          outcome: 'refused',
          status: 'REFUSED',
          code: 'STALE_QUOTE',
          parkedExecutions: false,
          sent: false,
        }),
    });
    await harness.startWorker(activities);
    const handle = await start(anOpenOrder());
    expect(await handle.result()).toEqual({
      outcome: 'refused',
      status: 'REFUSED',
      code: 'STALE_QUOTE',
      cumulativeQuantity: '0',
    });
    expect(recorded.commands).toEqual([]);
  });

  test('whose key holds another request does nothing more', async () => {
    const { activities, recorded } = recordingActivities('1', {
      openOrder: () =>
        Promise.resolve({ outcome: 'superseded', status: 'NEW', parkedExecutions: false, sent: false }),
    });
    await harness.startWorker(activities);
    const handle = await start(anOpenOrder());
    expect((await handle.result()).outcome).toBe('superseded');
    expect(recorded.commands).toEqual([]);
  });

  test('that is refused still books executions that reach it, and ends', async () => {
    const command = anOpenOrder();
    const { activities, recorded } = recordingActivities('1', {
      openOrder: async () => {
        // The signal arrives while the order is being refused.
        await harness.client.workflow
          .getHandle(orderWorkflowId(command.request))
          .signal(executionsSignal, [anExecutionOf(command, 'FILL')]);
        return {
          outcome: 'refused',
          status: 'REFUSED',
          code: 'STALE_QUOTE',
          parkedExecutions: false,
          sent: false,
        };
      },
    });
    await harness.startWorker(activities);
    const handle = await start(command);
    await handle.result();
    await waitFor('the fill to be booked', () => recorded.batches.length > 0);
    expect(recorded.batches).toHaveLength(1);
  });

  test('shows a failing activity as pending with its attempts and its message, and goes on when it succeeds', async () => {
    let failing = true;
    const { activities } = recordingActivities('1', {
      openOrder: () =>
        failing
          ? Promise.reject(new Error('the quote gate did not answer within 250 ms'))
          : Promise.resolve({
              outcome: 'opened',
              status: 'PENDING_NEW',
              parkedExecutions: false,
              sent: false,
            }),
    });
    await harness.startWorker(activities);
    const command = anOpenOrder();
    const handle = await start(command);
    const pending = await waitFor('a third attempt', async () => {
      const { raw } = await handle.describe();
      const [activity] = raw.pendingActivities ?? [];
      return activity !== undefined && (activity.attempt ?? 0) >= 3 ? activity : undefined;
    });
    expect(pending.lastFailure?.message).toContain('the quote gate did not answer within 250 ms');
    failing = false;
    await handle.signal(executionsSignal, [anExecutionOf(command, 'FILL')]);
    expect((await handle.result()).status).toBe('FILLED');
  });

  test('asks the venue for a cancel once, however often it is asked itself', async () => {
    const { activities, recorded } = recordingActivities();
    await harness.startWorker(activities);
    const command = anOpenOrder();
    const handle = await start(command);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await handle.executeUpdate(cancelUpdate, { updateId: cancelUpdateId(0) });
    }
    await waitFor('the cancel to be sent', () => recorded.commands.includes('CANCEL'));
    // The order is cancelled only when the venue says so.
    expect((await handle.query(orderRunQuery)).status).toBe('PENDING_NEW');
    await handle.signal(executionsSignal, [anExecutionOf(command, 'FILL')]);
    await handle.signal(executionsSignal, [anExecutionOf(command, 'CANCELLED')]);
    expect(await handle.result()).toMatchObject({ status: 'CANCELLED', cumulativeQuantity: '1' });
    expect(recorded.commands).toEqual(['NEW_ORDER', 'CANCEL']);
  });

  test('whose cancel the venue refuses asks once what happened, and can be asked to cancel again', async () => {
    const { activities, recorded } = recordingActivities();
    await harness.startWorker(activities);
    const command = anOpenOrder();
    const handle = await start(command);
    const refusal = (executionId: string) => [anExecutionOf(command, 'CANCEL_REJECTED', { executionId })];
    await handle.executeUpdate(cancelUpdate, { updateId: cancelUpdateId(0) });
    await waitFor('the cancel to be sent', () => recorded.commands.includes('CANCEL'));
    await handle.signal(executionsSignal, refusal('refused'));
    await waitFor('the status request', () => recorded.commands.includes('STATUS_REQUEST'));
    // A refusal that comes again, or that nobody asked for, asks nothing: the venue could answer with another one.
    await handle.signal(executionsSignal, refusal('refused'));
    await handle.signal(executionsSignal, refusal('of nothing'));
    await waitFor('the refusals to be booked', () => recorded.executionIds.includes('of nothing'));
    await handle.executeUpdate(cancelUpdate, { updateId: cancelUpdateId(0) });
    await handle.executeUpdate(cancelUpdate, { updateId: cancelUpdateId(2) });
    await waitFor('the second cancel', () => recorded.commands.length === 4);
    await handle.signal(executionsSignal, [anExecutionOf(command, 'CANCELLED')]);
    expect(await handle.result()).toMatchObject({ status: 'CANCELLED' });
    expect(recorded.commands).toEqual(['NEW_ORDER', 'CANCEL', 'STATUS_REQUEST', 'CANCEL']);
    expect(recorded.attempts).toEqual([undefined, 3]);
  });

  test('is not acknowledged by the refusal of a cancel', async () => {
    const { activities, recorded } = recordingActivities('1');
    await harness.startWorker(activities);
    const command = anOpenOrder();
    const handle = await start(command, { venueAckTimeoutMs: 1_500 });
    await handle.signal(executionsSignal, [anExecutionOf(command, 'CANCEL_REJECTED')]);
    await waitFor('the order to be unacknowledged', () => recorded.unacknowledged.length === 1);
    await handle.signal(executionsSignal, [anExecutionOf(command, 'FILL', { executionId: 'fill' })]);
    await handle.result();
  });

  test('that the venue says nothing about is unacknowledged and asks for its status, never sent again', async () => {
    const { activities, recorded } = recordingActivities('1');
    await harness.startWorker(activities);
    const command = anOpenOrder();
    const handle = await start(command, { venueAckTimeoutMs: 200 });
    await waitFor('the status request', () => recorded.commands.includes('STATUS_REQUEST'));
    expect(recorded.unacknowledged).toEqual([command.request.clientOrderId]);
    await handle.signal(executionsSignal, [anExecutionOf(command, 'FILL')]);
    await handle.result();
    expect(recorded.commands).toEqual(['NEW_ORDER', 'STATUS_REQUEST']);
  });

  test('that is good till a date asks for a cancel at that date', async () => {
    const { activities, recorded } = recordingActivities();
    await harness.startWorker(activities);
    const expireAt = new Date(Date.now() + 1_500).toISOString();
    const command = anOpenOrder({ timeInForce: 'gtd', expireAt });
    const handle = await start(command);
    await waitFor('the cancel to be sent', () => recorded.commands.includes('CANCEL'));
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expireAt));
    await handle.signal(executionsSignal, [anExecutionOf(command, 'CANCELLED')]);
    expect((await handle.result()).status).toBe('CANCELLED');
  });

  test('books executions one batch at a time, in the order in which they came', async () => {
    const total = 60;
    let busy = 0;
    const { activities, recorded } = recordingActivities(String(total));
    const { applyExecutions } = activities;
    await harness.startWorker({
      ...activities,
      applyExecutions: async (command) => {
        busy += 1;
        expect(busy).toBe(1);
        await new Promise((resolve) => setTimeout(resolve, 5));
        busy -= 1;
        return applyExecutions(command);
      },
    });
    const command = anOpenOrder({ quantity: String(total) });
    const handle = await start(command);
    for (let number = 0; number < total; number += 1) {
      await handle.signal(executionsSignal, [
        anExecutionOf(command, 'FILL', { executionId: String(number) }),
      ]);
    }
    await handle.result();
    expect(recorded.executionIds).toEqual(Array.from({ length: total }, (_, number) => String(number)));
  });

  test('hands over to a new run after many signals and loses none of them', async () => {
    const total = 40;
    const { activities, recorded } = recordingActivities(String(total));
    await harness.startWorker(activities);
    const command = anOpenOrder({ quantity: String(total) });
    const handle = await start(command, { maxSignalsPerRun: 7 });
    await handle.executeUpdate(cancelUpdate, { updateId: cancelUpdateId(0) });
    const open = harness.client.workflow.getHandle(handle.workflowId);
    const fill = async (from: number, to: number) => {
      for (let number = from; number < to; number += 1) {
        await open.signal(executionsSignal, [
          anExecutionOf(command, 'FILL', { executionId: String(number) }),
        ]);
      }
    };
    await fill(0, total / 2);
    // A slow worker takes many signals in one task: with the last fill among them the first run would end, not hand over.
    await waitFor(
      'a run to hand over',
      async () => (await open.describe()).runId !== handle.firstExecutionRunId,
    );
    await fill(total / 2, total);
    expect(await handle.result()).toEqual({ outcome: 'opened', status: 'FILLED', cumulativeQuantity: '40' });
    expect(recorded.executionIds).toEqual(Array.from({ length: total }, (_, number) => String(number)));
    // Neither the order nor the cancel is sent again by a run that continues.
    expect(recorded.commands).toEqual(['NEW_ORDER', 'CANCEL']);
    expect(recorded.opened).toHaveLength(1);
  });

  test('takes out what was parked for it as soon as it is open', async () => {
    const { activities, recorded } = recordingActivities('1', {
      openOrder: () =>
        Promise.resolve({ outcome: 'opened', status: 'PENDING_NEW', parkedExecutions: true, sent: false }),
    });
    await harness.startWorker(activities);
    const command = anOpenOrder();
    const handle = await start(command);
    await waitFor('the parked executions to be asked for', () => recorded.batches.length > 0);
    expect(recorded.batches[0]).toMatchObject({ includeParked: true, executions: [] });
    await handle.signal(executionsSignal, [anExecutionOf(command, 'FILL')]);
    await handle.result();
  });

  test('late executions are booked by a run that their signal starts, and that ends', async () => {
    const { activities, recorded } = recordingActivities();
    await harness.startWorker(activities);
    const command = anOpenOrder();
    const late = (executionId: string) =>
      harness.client.workflow.signalWithStart<
        typeof lateExecutionsWorkflow,
        [executions: readonly Execution[]]
      >('lateExecutionsWorkflow', {
        taskQueue: harness.taskQueue,
        workflowId: lateExecutionsWorkflowId(command.request),
        args: [command.request],
        signal: executionsSignal,
        signalArgs: [[anExecutionOf(command, 'FILL', { executionId })]],
      });
    await (await late('first')).result();
    await (await late('second')).result();
    expect(recorded.executionIds).toEqual(['first', 'second']);
  });
});
