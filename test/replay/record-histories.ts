import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import type { Activities } from '../../activities';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { lateExecutionsWorkflowId, orderWorkflowId } from '../../src/domain/ids';
import type { Execution, ExecutionType } from '../../src/domain/execution';
import type { lateExecutionsWorkflow, orderWorkflow } from '../../workflows';
import { cancelUpdate, cancelUpdateId, executionsSignal } from '../../workflows/messages';
import { recordingActivities } from '../support/recording-activities';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { connectHarness, type TemporalHarness } from '../support/temporal-harness';
import { waitFor } from '../support/wait-for';
import { writeHistory } from './history-file';

/**
 * Records the histories that the replay tests hold the workflows to, one for each shape that an order can take. Run it
 * once for a version that is released, never to make a failing replay pass: a running order replays what was written.
 */
const SHAPES: Readonly<Record<string, Shape>> = {
  created: { commands: ['NEW_ORDER'] },
  acknowledged: { executions: ['NEW'], commands: ['NEW_ORDER'] },
  filled: { executions: ['NEW', 'FILL', 'FILL'], ends: true },
  partial: { executions: ['NEW', 'FILL'], commands: ['NEW_ORDER'] },
  cancelled: { cancel: true, executions: ['NEW', 'FILL', 'CANCELLED'], ends: true },
  rejected: { executions: ['REJECTED'], ends: true },
  refused: { openOrder: 'refused', ends: true },
  'gate-retry': { openOrder: 'fails-twice', executions: ['FILL', 'FILL'], ends: true },
  unacknowledged: { venueAckTimeoutMs: 200, commands: ['NEW_ORDER', 'STATUS_REQUEST'] },
  'good-till-date': { expireAfterMs: 1_000, commands: ['NEW_ORDER', 'CANCEL'] },
  'continued-as-new': { maxSignalsPerRun: 2, executions: ['NEW', 'FILL'], continues: true },
};

interface Shape {
  readonly executions?: readonly ExecutionType[];
  readonly cancel?: boolean;
  readonly openOrder?: 'refused' | 'fails-twice';
  readonly venueAckTimeoutMs?: number;
  readonly expireAfterMs?: number;
  readonly maxSignalsPerRun?: number;
  /** The run is over when it is recorded; else it is recorded when the venue has these commands. */
  readonly ends?: boolean;
  readonly continues?: boolean;
  readonly commands?: readonly string[];
}

async function record(harness: TemporalHarness, folder: string, name: string, shape: Shape): Promise<void> {
  const { activities, recorded } = recordingActivities('2', openOrderOf(shape));
  const { stop } = await harness.startWorker(activities);
  const command = anOpenOrder({
    quantity: '2',
    ...(shape.expireAfterMs === undefined
      ? {}
      : { timeInForce: 'gtd', expireAt: new Date(Date.now() + shape.expireAfterMs).toISOString() }),
  });
  const handle = await harness.client.workflow.start<typeof orderWorkflow>('orderWorkflow', {
    taskQueue: harness.taskQueue,
    workflowId: orderWorkflowId(command.request),
    workflowTaskTimeout: 3_000,
    args: [
      {
        command,
        venueAckTimeoutMs: shape.venueAckTimeoutMs ?? 60_000,
        maxSignalsPerRun: shape.maxSignalsPerRun ?? 2_000,
      },
    ],
  });
  const run = harness.client.workflow.getHandle(handle.workflowId);
  if (shape.cancel === true) await run.executeUpdate(cancelUpdate, { updateId: cancelUpdateId(0) });
  const executions = shape.executions ?? [];
  for (const [index, type] of executions.entries()) {
    await run.signal(executionsSignal, [anExecutionOf(command, type)]);
    await waitFor('the execution to be booked', () => recorded.executionIds.length > index);
  }
  if (shape.ends === true) await run.result();
  await waitFor(
    'the commands',
    () => shape.commands?.every((each, at) => recorded.commands[at] === each) ?? true,
  );
  const first = harness.client.workflow.getHandle(handle.workflowId, handle.firstExecutionRunId);
  if (shape.continues === true) {
    await waitFor('the hand-over', async () => (await first.describe()).status.name === 'CONTINUED_AS_NEW');
  }
  await stop();
  writeHistory(folder, name, historyToJSON(await first.fetchHistory()));
}

function openOrderOf({ openOrder }: Shape): Partial<Activities> {
  let failures = openOrder === 'fails-twice' ? 2 : 0;
  if (openOrder === undefined) return {};
  return {
    openOrder: () => {
      failures -= 1;
      if (failures >= 0) return Promise.reject(new Error('the quote gate did not answer within 250 ms'));
      return Promise.resolve(
        openOrder === 'refused'
          ? {
              outcome: 'refused',
              status: 'REFUSED',
              code: 'STALE_QUOTE',
              parkedExecutions: false,
              sent: false,
            }
          : { outcome: 'opened', status: 'PENDING_NEW', parkedExecutions: false, sent: false },
      );
    },
  };
}

async function recordLate(
  harness: TemporalHarness,
  folder: string,
  command: OpenOrderCommand,
): Promise<void> {
  const { stop } = await harness.startWorker(recordingActivities('2').activities);
  const handle = await harness.client.workflow.signalWithStart<
    typeof lateExecutionsWorkflow,
    [executions: readonly Execution[]]
  >('lateExecutionsWorkflow', {
    taskQueue: harness.taskQueue,
    workflowId: lateExecutionsWorkflowId(command.request),
    args: [command.request],
    signal: executionsSignal,
    signalArgs: [[anExecutionOf(command, 'FILL')]],
  });
  await handle.result();
  await stop();
  writeHistory(folder, 'late', historyToJSON(await handle.fetchHistory()));
}

async function main(): Promise<void> {
  const version = process.argv[2];
  if (version === undefined) throw new Error('name the version: record-histories.ts 0.1.0');
  const folder = join(__dirname, 'histories', version);
  mkdirSync(folder, { recursive: true });
  const harness = await connectHarness();
  for (const [name, shape] of Object.entries(SHAPES)) await record(harness, folder, name, shape);
  await recordLate(harness, folder, anOpenOrder());
  await harness.close();
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});
