import { ServiceError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { ExecutionBatch } from '../contracts/execution-batch';
import { lateExecutionsWorkflowId, orderWorkflowId } from '../domain/ids';
import type { lateExecutionsWorkflow } from '../../workflows';
import { accountIdAttribute, executionsSignal } from '../../workflows/messages';
import { TemporalUnavailableError, type ExecutionGateway } from './order-gateway';
import { underDeadline } from './rpc';

export interface ExecutionGatewayOptions {
  readonly taskQueue: string;
  readonly rpcTimeoutMs: number;
}

/** The execution gateway on a real Temporal server. */
export function createExecutionGateway(client: Client, options: ExecutionGatewayOptions): ExecutionGateway {
  return {
    deliver: async (batch) => {
      if (await signalOrder(client, options, batch)) return 'order';
      await signalLate(client, options, batch);
      return 'late';
    },
  };
}

/** False when the order's run is closed or was never there. */
async function signalOrder(
  client: Client,
  options: ExecutionGatewayOptions,
  batch: ExecutionBatch,
): Promise<boolean> {
  const handle = client.workflow.getHandle(orderWorkflowId(batch.key));
  try {
    await underDeadline(client, options.rpcTimeoutMs, 'executions', () =>
      handle.signal(executionsSignal, batch.executions),
    );
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    if (takesNoSignal(error)) {
      throw new TemporalUnavailableError(
        `the run ${handle.workflowId} takes no more signals until a worker has continued it`,
        { cause: error },
      );
    }
    throw error;
  }
}

const GRPC_INVALID_ARGUMENT = 3;

/**
 * The server holds a bounded number of signals for one run (10,000), and says so with a code that elsewhere means a
 * fault of the caller. It is met when no worker runs for long, and it concerns this order alone: waiting cures it.
 */
function takesNoSignal(error: unknown): boolean {
  if (!(error instanceof ServiceError) || !(error.cause instanceof Error)) return false;
  return 'code' in error.cause && error.cause.code === GRPC_INVALID_ARGUMENT;
}

/** The late run is started by its signal; after its end the next signal starts it again. */
async function signalLate(
  client: Client,
  options: ExecutionGatewayOptions,
  { key, executions }: ExecutionBatch,
): Promise<void> {
  await underDeadline(client, options.rpcTimeoutMs, 'late executions', () =>
    client.workflow.signalWithStart<typeof lateExecutionsWorkflow, [typeof executions]>(
      'lateExecutionsWorkflow',
      {
        taskQueue: options.taskQueue,
        workflowId: lateExecutionsWorkflowId(key),
        args: [{ accountId: key.accountId, clientOrderId: key.clientOrderId }],
        signal: executionsSignal,
        signalArgs: [executions],
        staticSummary: `executions of ${key.clientOrderId} after its run`,
        typedSearchAttributes: [{ key: accountIdAttribute, value: key.accountId }],
      },
    ),
  );
}
