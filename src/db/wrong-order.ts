import type { Execution } from '../domain/execution';
import { fillIdentityText, findFills } from './fills';
import type { LockedOrder } from './order-updates';
import type { PoolClient } from './pool';

/** An execution that contradicts the order it names: never applied, never guessed at. */
export interface WrongOrderFault {
  readonly execution: Execution;
  readonly detail: string;
}

/** Symbol or side differ from the order's, or an amendment refers to a fill of another order. */
export async function wrongOrderFaults(
  connection: PoolClient,
  order: LockedOrder,
  executions: readonly Execution[],
): Promise<WrongOrderFault[]> {
  const strangers = await fillsOfOtherOrders(connection, order, executions);
  return executions.flatMap((execution) => {
    const detail = contradiction(order, execution, strangers);
    return detail === undefined ? [] : [{ execution, detail }];
  });
}

function contradiction(
  order: LockedOrder,
  execution: Execution,
  strangers: ReadonlySet<string>,
): string | undefined {
  const name = `${execution.type} ${execution.executionId}`;
  if (execution.symbol !== order.symbol) {
    return `${name} is for ${execution.symbol}, the order for ${order.symbol}`;
  }
  if (execution.side !== order.side) return `${name} says ${execution.side}, the order ${order.side}`;
  const { refExecutionId, source } = execution;
  if (refExecutionId === undefined) return undefined;
  return strangers.has(fillIdentityText({ source, executionId: refExecutionId }))
    ? `${name} refers to fill ${refExecutionId} of another order`
    : undefined;
}

async function fillsOfOtherOrders(
  connection: PoolClient,
  order: LockedOrder,
  executions: readonly Execution[],
): Promise<Set<string>> {
  const strangers = new Set<string>();
  for (const [source, ids] of referencesBySource(executions)) {
    for (const fill of await findFills(connection, source, ids)) {
      const own = fill.accountId === order.accountId && fill.clientOrderId === order.clientOrderId;
      if (!own) strangers.add(fillIdentityText(fill));
    }
  }
  return strangers;
}

function referencesBySource(executions: readonly Execution[]): Map<string, string[]> {
  const references = new Map<string, string[]>();
  for (const { source, refExecutionId } of executions) {
    if (refExecutionId === undefined) continue;
    references.set(source, [...(references.get(source) ?? []), refExecutionId]);
  }
  return references;
}
