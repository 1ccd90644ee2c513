import { decimal, decimalText } from '../domain/decimal';
import type { OrderKey } from '../domain/ids';
import type { Side } from '../domain/order';
import type { OrderProgress } from '../domain/order-progress';
import type { OrderStatus } from '../domain/order-status';
import { firstRow, type PoolClient } from './pool';

/** An order's row, locked until the transaction ends. */
export interface LockedOrder extends OrderKey, OrderProgress {
  readonly symbol: string;
  readonly side: Side;
  readonly lastEventSequence: number;
}

export interface OrderEvent {
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

interface RawLockedOrder {
  readonly symbol: string;
  readonly side: Side;
  readonly status: OrderStatus;
  readonly quantity: string;
  readonly cumulativeQuantity: string;
  readonly cumulativeCost: string;
  readonly overfilled: boolean;
  readonly attention: string | null;
  readonly venueOrderId: string | null;
  readonly cancelRejections: number;
  readonly lastEventSequence: number;
}

/** Always the first lock of a transaction that touches an order; the position's lock comes after it. */
export async function lockOrder(connection: PoolClient, key: OrderKey): Promise<LockedOrder | undefined> {
  const raw = await firstRow<RawLockedOrder>(connection, {
    name: 'lock-order',
    text: `
      select symbol as "symbol", side as "side", status as "status", quantity::text as "quantity",
             cumulative_quantity::text as "cumulativeQuantity", cumulative_cost::text as "cumulativeCost",
             overfilled as "overfilled", attention as "attention", venue_order_id as "venueOrderId",
             cancel_rejections as "cancelRejections", last_event_sequence as "lastEventSequence"
      from orders where account_id = $1::text and client_order_id = $2::text
      for update`,
    values: [key.accountId, key.clientOrderId],
  });
  if (raw === undefined) return undefined;
  return {
    accountId: key.accountId,
    clientOrderId: key.clientOrderId,
    ...raw,
    quantity: decimal(raw.quantity),
    cumulativeQuantity: decimal(raw.cumulativeQuantity),
    cumulativeCost: decimal(raw.cumulativeCost),
  };
}

/** Writes what executions changed, and appends to the timeline. The row must be locked by this transaction. */
export async function updateOrder(
  connection: PoolClient,
  order: LockedOrder,
  progress: OrderProgress,
  events: readonly OrderEvent[],
): Promise<void> {
  await connection.query({
    name: 'update-order',
    text: `
      with updated as (
        update orders
        set status = $3::text, cumulative_quantity = $4::numeric, cumulative_cost = $5::numeric,
            overfilled = $6::boolean, attention = $7::text, venue_order_id = $8::text, cancel_rejections = $11::integer,
            -- What was asked for has been refused: it may be asked for again.
            cancel_requested_at = case when cancel_rejections < $11::integer then null else cancel_requested_at end,
            last_event_sequence = last_event_sequence + cardinality($9::text[]), updated_at = clock_timestamp()
        where account_id = $1::text and client_order_id = $2::text
        returning account_id, client_order_id, last_event_sequence - cardinality($9::text[]) as before
      )
      insert into order_events (account_id, client_order_id, sequence, type, detail)
      select updated.account_id, updated.client_order_id, updated.before + event.number, event.type, event.detail
      from updated, unnest($9::text[], $10::jsonb[]) with ordinality as event (type, detail, number)`,
    values: [
      order.accountId,
      order.clientOrderId,
      progress.status,
      decimalText(progress.cumulativeQuantity),
      decimalText(progress.cumulativeCost),
      progress.overfilled,
      progress.attention,
      progress.venueOrderId,
      events.map((event) => event.type),
      events.map((event) => JSON.stringify(event.detail)),
      progress.cancelRejections,
    ],
  });
}

/** Marks that a cancel was asked for, once. False when it had been marked before. */
export async function markCancelRequested(connection: PoolClient, key: OrderKey): Promise<boolean> {
  const result = await connection.query({
    name: 'mark-cancel-requested',
    text: `
      update orders set cancel_requested_at = clock_timestamp(), updated_at = clock_timestamp()
      where account_id = $1::text and client_order_id = $2::text and cancel_requested_at is null`,
    values: [key.accountId, key.clientOrderId],
  });
  return result.rowCount === 1;
}
