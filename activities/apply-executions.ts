import type { ApplyExecutionsCommand, ApplyExecutionsResult } from '../src/contracts/order-messages';
import {
  applyExecutions as bookExecutions,
  type ApplyExecutionsOutcome,
  type ExecutionVerdict,
} from '../src/db/apply-executions';
import { isSurprising } from '../src/domain/order-status';
import type { Metrics } from '../src/observability/metrics';
import type { ActivityDependencies } from './dependencies';
import { step } from './failures';

/** Applies a batch of one order's executions in one transaction. A repeat changes nothing and is counted. */
export async function applyExecutions(
  deps: ActivityDependencies,
  command: ApplyExecutionsCommand,
): Promise<ApplyExecutionsResult> {
  const outcome = await step(`booking ${command.executions.length} executions`, () =>
    bookExecutions(deps.pool, command, deps.applyExecutionsHooks),
  );
  for (const verdict of outcome.verdicts) count(deps.metrics, verdict);
  countOrder(deps.metrics, outcome);
  return outcome.result;
}

function count(metrics: Metrics, { execution, verdict }: ExecutionVerdict): void {
  const { source, type } = execution;
  switch (verdict) {
    case 'applied':
      metrics.executionsApplied.inc({ source, type });
      return;
    case 'duplicate':
      metrics.duplicateExecutions.inc({ source, type });
      return;
    case 'conflict':
      metrics.conflictingExecutions.inc({ source, type });
      metrics.quarantinedEvents.inc({ reason: 'conflict' });
      return;
    case 'wrong_order':
      metrics.quarantinedEvents.inc({ reason: 'wrong_order' });
      return;
    case 'outside_window':
      metrics.outsideWindowExecutions.inc({ source, type });
      return;
    case 'parked':
      metrics.parkedExecutions.inc({ source, type });
      return;
  }
}

function countOrder(metrics: Metrics, { before, after, verdicts }: ApplyExecutionsOutcome): void {
  if (before === undefined || after === undefined) return;
  if (after.overfilled && !before.overfilled) metrics.overfilledOrders.inc();
  for (const { execution, verdict } of verdicts) {
    if (verdict === 'applied' && isSurprising(before.status, execution.type)) {
      metrics.surprisingExecutions.inc({ type: execution.type, status: before.status });
    }
  }
}
