import type { OrderKey } from '../domain/ids';
import { isTerminal, nextOrderStatus, type OrderStatus } from '../domain/order-status';
import { lockOrder, markCancelRequested, updateOrder } from './order-updates';
import type { Pool } from './pool';
import { inTransaction } from './transaction';

/** Marks that a cancel was asked for, once, unless the order is closed. Returns the order's status. */
export async function requestCancel(
  pool: Pool,
  key: OrderKey,
  reason: string,
): Promise<OrderStatus | undefined> {
  return inTransaction(pool, async (connection) => {
    const order = await lockOrder(connection, key);
    if (order === undefined || isTerminal(order.status)) return order?.status;
    if (await markCancelRequested(connection, key)) {
      await updateOrder(connection, order, order, [{ type: 'CANCEL_REQUESTED', detail: { reason } }]);
    }
    return order.status;
  });
}

/** The venue has said nothing in time. `changed` is false when it has, after all, or when this was marked before. */
export async function markUnacknowledged(
  pool: Pool,
  key: OrderKey,
): Promise<{ readonly status: OrderStatus | undefined; readonly changed: boolean }> {
  return inTransaction(pool, async (connection) => {
    const order = await lockOrder(connection, key);
    if (order === undefined) return { status: undefined, changed: false };
    const status = nextOrderStatus(order.status, 'ACKNOWLEDGEMENT_OVERDUE');
    if (status === order.status) return { status, changed: false };
    await updateOrder(connection, order, { ...order, status }, [{ type: 'UNACKNOWLEDGED', detail: {} }]);
    return { status, changed: true };
  });
}
