import { allHandlersFinished, condition, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { LateExecutionsCommand } from '../src/contracts/order-messages';
import type { Execution } from '../src/domain/execution';
import { localFirst } from './local-first';
import { executionsSignal } from './messages';
import { MAX_EXECUTIONS_PER_BATCH } from './order-workflow';

/**
 * Books executions of an order whose own run is closed, or parks them when there is no such order. Started by the
 * signal that brings them, ends when its queue is empty, and starts again with the next one.
 */
export async function lateExecutionsWorkflow(key: LateExecutionsCommand): Promise<void> {
  const queue: Execution[] = [];
  setHandler(executionsSignal, (executions) => {
    queue.push(...executions);
  });
  await condition(() => queue.length > 0);
  while (queue.length > 0) {
    const executions = queue.splice(0, MAX_EXECUTIONS_PER_BATCH);
    const { orderExists } = await localFirst(
      'applyExecutions',
      { accountId: key.accountId, clientOrderId: key.clientOrderId, executions },
      `book ${executions.length} late executions`,
    );
    setCurrentDetails(orderExists ? 'booked' : 'parked: there is no such order yet');
    await condition(allHandlersFinished);
  }
}
