import {
  markUnacknowledged as storeUnacknowledged,
  requestCancel as storeCancelRequest,
} from '../src/db/order-lifecycle';
import type { OrderKey } from '../src/domain/ids';
import type { OrderStatus } from '../src/domain/order-status';
import type { ActivityDependencies } from './dependencies';
import { step } from './failures';

export interface OrderStatusResult {
  readonly status?: OrderStatus;
}

/** Records that a cancel was asked for. The order is cancelled only when the venue says so. */
export async function requestCancel(
  deps: ActivityDependencies,
  request: { readonly key: OrderKey; readonly reason: string },
): Promise<OrderStatusResult> {
  const status = await step('recording the cancel request', () =>
    storeCancelRequest(deps.pool, request.key, request.reason),
  );
  return status === undefined ? {} : { status };
}

/** Records that the venue has said nothing in time. */
export async function markUnacknowledged(
  deps: ActivityDependencies,
  key: OrderKey,
): Promise<OrderStatusResult> {
  const { status, changed } = await step('recording the missing acknowledgement', () =>
    storeUnacknowledged(deps.pool, key),
  );
  if (changed) deps.metrics.unacknowledgedOrders.inc();
  return status === undefined ? {} : { status };
}
