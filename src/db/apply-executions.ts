import type { ApplyExecutionsCommand, ApplyExecutionsResult } from '../contracts/order-messages';
import { assert } from '../domain/assert';
import { decimalText } from '../domain/decimal';
import type { Execution } from '../domain/execution';
import { advanceOrder, amendOrder, type OrderProgress } from '../domain/order-progress';
import { bookFills, type BookedFills } from './book-fills';
import { claimEvents, type ClaimedEvents } from './claimed-events';
import { lockOrderKey } from './open-order';
import { lockOrder, updateOrder, type LockedOrder, type OrderEvent } from './order-updates';
import { parkExecutions, takeParked } from './parked-executions';
import type { Pool, PoolClient } from './pool';
import { insertQuarantined, type RefusedExecution } from './quarantine';
import { inTransaction, type TransactionHooks } from './transaction';
import { wrongOrderFaults, type WrongOrderFault } from './wrong-order';

/** What became of each execution of a batch: exactly one verdict each. */
export interface ExecutionVerdict {
  readonly execution: Execution;
  readonly verdict: 'applied' | 'duplicate' | 'conflict' | 'outside_window' | 'wrong_order' | 'parked';
}

export interface ApplyExecutionsOutcome {
  readonly result: ApplyExecutionsResult;
  readonly verdicts: readonly ExecutionVerdict[];
  /** The order before and after; absent when the order does not exist. */
  readonly before?: OrderProgress;
  readonly after?: OrderProgress;
}

/**
 * ONE transaction for a batch of one order: dedup, fills, position, order, timeline. Whatever was applied before has
 * no effect again; whatever cannot be applied is put aside in the same transaction. Safe to repeat at any time.
 */
export async function applyExecutions(
  pool: Pool,
  command: ApplyExecutionsCommand,
  hooks: TransactionHooks = {},
): Promise<ApplyExecutionsOutcome> {
  return inTransaction(pool, (connection) => applyExecutionsWithin(connection, command), hooks);
}

/** The same as a part of a larger transaction, whose first lock it takes. */
export async function applyExecutionsWithin(
  connection: PoolClient,
  command: ApplyExecutionsCommand,
): Promise<ApplyExecutionsOutcome> {
  for (const execution of command.executions) {
    assert(
      execution.accountId === command.accountId && execution.clientOrderId === command.clientOrderId,
      'a batch holds executions of one order',
    );
  }
  const order = (await lockOrder(connection, command)) ?? (await lockOrderUnderKey(connection, command));
  if (order === undefined) return park(connection, command.executions);
  const parked = command.includeParked === true ? await takeParked(connection, command) : [];
  return applyToOrder(connection, order, [...parked, ...command.executions]);
}

/** Looks again under the lock that opening an order takes: from here on the order cannot appear unseen. */
async function lockOrderUnderKey(
  connection: PoolClient,
  command: ApplyExecutionsCommand,
): Promise<LockedOrder | undefined> {
  await lockOrderKey(connection, command);
  return lockOrder(connection, command);
}

async function park(
  connection: PoolClient,
  executions: readonly Execution[],
): Promise<ApplyExecutionsOutcome> {
  await parkExecutions(connection, executions);
  return {
    result: { orderExists: false },
    verdicts: executions.map((execution) => ({ execution, verdict: 'parked' })),
  };
}

async function applyToOrder(
  connection: PoolClient,
  order: LockedOrder,
  executions: readonly Execution[],
): Promise<ApplyExecutionsOutcome> {
  const faults = await wrongOrderFaults(connection, order, executions);
  const wrong = new Set(faults.map((fault) => fault.execution));
  const events = await claimEvents(
    connection,
    executions.filter((execution) => !wrong.has(execution)),
  );
  const booked = await bookFills(connection, order, events.claimed);
  const aside = await quarantine(connection, events, faults);
  const after = progressAfter(order, events, booked, aside);
  const timeline = timelineOf(events, booked, aside);
  if (timeline.length > 0) await updateOrder(connection, order, after, timeline);
  return {
    result: {
      orderExists: true,
      status: after.status,
      cumulativeQuantity: decimalText(after.cumulativeQuantity),
      ...(after.cancelRejections === 0 ? {} : { cancelRejections: after.cancelRejections }),
    },
    verdicts: verdictsOf(events, booked, faults),
    before: order,
    after,
  };
}

function progressAfter(
  order: LockedOrder,
  events: ClaimedEvents,
  booked: BookedFills,
  aside: readonly RefusedExecution[],
): OrderProgress {
  let progress: OrderProgress = order;
  for (const execution of events.claimed) {
    if (booked.outsideWindow.has(execution)) continue;
    progress = advanceOrder(progress, execution, booked.counted.get(execution));
  }
  if (booked.amendedTotals !== undefined) progress = amendOrder(progress, booked.amendedTotals);
  return { ...progress, attention: progress.attention ?? aside[0]?.detail ?? null };
}

/** Puts aside what must not be applied. Returns what was not put aside before: a repeat of it changes nothing. */
async function quarantine(
  connection: PoolClient,
  events: ClaimedEvents,
  faults: readonly WrongOrderFault[],
): Promise<RefusedExecution[]> {
  const conflicts = events.conflicts.map(({ execution, firstHash }) => ({
    reason: 'conflict' as const,
    detail: `execution ${execution.executionId} came again with other content`,
    execution,
    otherPayload: `sha256:${firstHash}`,
  }));
  const wrong = faults.map(({ execution, detail }) => ({
    reason: 'wrong_order' as const,
    detail,
    execution,
  }));
  return [...(await insertQuarantined<RefusedExecution>(connection, [...conflicts, ...wrong]))];
}

function timelineOf(
  events: ClaimedEvents,
  booked: BookedFills,
  aside: readonly RefusedExecution[],
): OrderEvent[] {
  const applied = events.claimed
    .filter((execution) => !booked.outsideWindow.has(execution))
    .map((execution) => ({ type: execution.type, detail: timelineDetail(execution) }));
  const refused = aside.map(({ execution, reason }) => ({
    type: 'QUARANTINED',
    detail: { reason, type: execution.type, ...timelineDetail(execution) },
  }));
  return [...applied, ...refused];
}

function timelineDetail(execution: Execution): Record<string, unknown> {
  const { accountId, clientOrderId, symbol, side, type, ...detail } = execution;
  return detail;
}

function verdictsOf(
  events: ClaimedEvents,
  booked: BookedFills,
  faults: readonly WrongOrderFault[],
): ExecutionVerdict[] {
  return [
    ...events.claimed.map((execution) => ({
      execution,
      verdict: booked.outsideWindow.has(execution) ? ('outside_window' as const) : ('applied' as const),
    })),
    ...events.duplicates.map((execution) => ({ execution, verdict: 'duplicate' as const })),
    ...events.conflicts.map(({ execution }) => ({ execution, verdict: 'conflict' as const })),
    ...faults.map(({ execution }) => ({ execution, verdict: 'wrong_order' as const })),
  ];
}
