import type { Decimal } from './decimal';
import type { Execution } from './execution';
import { isSurprising, nextOrderStatus, type OrderStatus } from './order-status';

/** The part of an order that executions change. */
export interface OrderProgress {
  readonly status: OrderStatus;
  /** As ordered. */
  readonly quantity: Decimal;
  /** What its fills count for. */
  readonly cumulativeQuantity: Decimal;
  /** Sum of quantity · price of its fills, exact. */
  readonly cumulativeCost: Decimal;
  readonly overfilled: boolean;
  /** Why an operator should look; the first reason stays. */
  readonly attention: string | null;
  readonly venueOrderId: string | null;
  /** How often the venue has refused to cancel it; the next cancel request is a new one. */
  readonly cancelRejections: number;
}

/** What a fill counts for, amendments that overtook it included. */
export interface CountedFill {
  readonly quantity: Decimal;
  readonly price: Decimal;
}

/** Sums over fills, exact. */
export interface Totals {
  readonly quantity: Decimal;
  /** Of quantity · price. */
  readonly cost: Decimal;
}

/** The order after one execution. Amendments change nothing here: they are counted by `amendOrder`. */
export function advanceOrder(order: OrderProgress, execution: Execution, fill?: CountedFill): OrderProgress {
  const noticed = notice(order, execution);
  switch (execution.type) {
    case 'NEW':
      return { ...noticed, status: nextOrderStatus(order.status, 'ACKNOWLEDGED') };
    case 'CANCELLED':
    case 'REJECTED':
    case 'EXPIRED':
      return { ...noticed, status: nextOrderStatus(order.status, execution.type) };
    // The order goes on as it was: the venue may have filled it, or may just not cancel now.
    case 'CANCEL_REJECTED':
      return { ...noticed, cancelRejections: order.cancelRejections + 1 };
    case 'FILL':
      return fill === undefined ? noticed : addFill(noticed, fill);
    case 'BUST':
    case 'CORRECT':
      return noticed;
  }
}

function notice(order: OrderProgress, execution: Execution): OrderProgress {
  const surprise = isSurprising(order.status, execution.type)
    ? `${execution.type} ${execution.executionId} arrived when the order was ${order.status}`
    : null;
  return {
    ...order,
    attention: order.attention ?? surprise,
    venueOrderId: execution.venueOrderId ?? order.venueOrderId,
  };
}

function addFill(order: OrderProgress, fill: CountedFill): OrderProgress {
  return withTotals(
    order,
    addTotals(order, { quantity: fill.quantity, cost: fill.quantity.times(fill.price) }),
  );
}

function addTotals(order: OrderProgress, more: Totals): Totals {
  return {
    quantity: order.cumulativeQuantity.plus(more.quantity),
    cost: order.cumulativeCost.plus(more.cost),
  };
}

/**
 * The order after busts and corrections of its fills.
 * @param change what its fills count for now less what they counted for before.
 */
export function amendOrder(order: OrderProgress, change: Totals): OrderProgress {
  const totals = addTotals(order, change);
  const amended = withTotals(order, totals);
  const amendedAfterwards = order.status === 'FILLED' && totals.quantity.lt(order.quantity);
  return amendedAfterwards
    ? { ...amended, attention: order.attention ?? 'a fill was amended after the order was filled' }
    : amended;
}

function withTotals(order: OrderProgress, totals: Totals): OrderProgress {
  const overfilled = totals.quantity.gt(order.quantity);
  return {
    ...order,
    cumulativeQuantity: totals.quantity,
    cumulativeCost: totals.cost,
    overfilled,
    attention: order.attention ?? (overfilled ? 'more was filled than ordered' : null),
    status: filledStatus(order, totals.quantity),
  };
}

function filledStatus(order: OrderProgress, cumulative: Decimal): OrderStatus {
  if (cumulative.gte(order.quantity)) return nextOrderStatus(order.status, 'FILLED_WHOLLY');
  if (cumulative.gt('0')) return nextOrderStatus(order.status, 'FILLED_IN_PART');
  // Nothing counts: an order that had fills has lost them all; one that had none stays as it is.
  return order.cumulativeQuantity.eq('0') ? order.status : nextOrderStatus(order.status, 'FILLS_VOIDED');
}
