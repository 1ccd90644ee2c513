import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import type { OpenOrderCommand } from '../contracts/order-messages';
import { orderWorkflowId, type OrderKey } from '../domain/ids';
import { orderSummary } from '../domain/order';
import type { orderWorkflow } from '../../workflows';
import {
  accountIdAttribute,
  cancelUpdate,
  cancelUpdateId,
  orderStatusAttribute,
  symbolAttribute,
} from '../../workflows/messages';
import type { AnswerBoard } from './answer-board';
import type { CancellableOrder, OrderGateway } from './order-gateway';
import { underDeadline } from './rpc';

export interface OrderGatewayOptions {
  readonly taskQueue: string;
  readonly rpcTimeoutMs: number;
  readonly workflowTaskTimeoutMs: number;
  readonly venueAckTimeoutMs: number;
  readonly maxSignalsPerRun: number;
  /** Only with a worker on the same connection: hands the first workflow task to it with the answer of the start. */
  readonly eagerStart: boolean;
}

/** The order gateway on a real Temporal server. */
export function createOrderGateway(
  client: Client,
  board: AnswerBoard,
  options: OrderGatewayOptions,
): OrderGateway {
  return {
    expectAnswer: (key) => board.expect(key),
    start: (command) => start(client, options, command),
    closedRunAcceptBy: (key) => closedRunAcceptBy(client, options, key),
    requestCancel: (order) => requestCancel(client, options, order),
  };
}

async function start(
  client: Client,
  options: OrderGatewayOptions,
  command: OpenOrderCommand,
): Promise<'here' | 'elsewhere' | 'closed'> {
  const { request } = command;
  try {
    const handle = await underDeadline(client, options.rpcTimeoutMs, 'the order', () =>
      client.workflow.start<typeof orderWorkflow>('orderWorkflow', {
        taskQueue: options.taskQueue,
        workflowId: orderWorkflowId(request),
        workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
        workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
        workflowTaskTimeout: options.workflowTaskTimeoutMs,
        requestEagerStart: options.eagerStart,
        args: [
          {
            command,
            venueAckTimeoutMs: options.venueAckTimeoutMs,
            maxSignalsPerRun: options.maxSignalsPerRun,
          },
        ],
        memo: { acceptBy: command.acceptBy },
        staticSummary: orderSummary(request),
        typedSearchAttributes: [
          { key: accountIdAttribute, value: request.accountId },
          { key: symbolAttribute, value: request.symbol },
          { key: orderStatusAttribute, value: 'PENDING_NEW' },
        ],
      }),
    );
    return handle.eagerlyStarted ? 'here' : 'elsewhere';
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'closed';
    throw error;
  }
}

async function closedRunAcceptBy(
  client: Client,
  options: OrderGatewayOptions,
  key: OrderKey,
): Promise<string | undefined> {
  const handle = client.workflow.getHandle(orderWorkflowId(key));
  try {
    const description = await underDeadline(client, options.rpcTimeoutMs, 'a look at the order', () =>
      handle.describe(),
    );
    const acceptBy = description.memo?.['acceptBy'];
    return typeof acceptBy === 'string' ? acceptBy : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

async function requestCancel(
  client: Client,
  options: OrderGatewayOptions,
  order: CancellableOrder,
): Promise<'requested' | 'closed'> {
  const handle = client.workflow.getHandle(orderWorkflowId(order));
  try {
    await underDeadline(client, options.rpcTimeoutMs, 'the cancel request', () =>
      handle.executeUpdate(cancelUpdate, { updateId: cancelUpdateId(order.cancelRejections) }),
    );
    return 'requested';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'closed';
    throw error;
  }
}
