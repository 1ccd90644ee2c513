import { problemOf } from '../contracts/error-codes';
import type { OrderBody } from '../contracts/order-api';
import type { OrderRow } from '../db/orders';

/** An order's row as the API shows it: what does not apply is left out. */
export function orderResource(row: OrderRow): OrderBody {
  return {
    accountId: row.accountId,
    clientOrderId: row.clientOrderId,
    symbol: row.symbol,
    side: row.side,
    quantity: row.quantity,
    type: row.type,
    ...present('limitPrice', row.limitPrice),
    timeInForce: row.timeInForce,
    ...present('expireAt', row.expireAt),
    status: row.status,
    ...present('refusalCode', row.refusalCode),
    cumulativeQuantity: row.cumulativeQuantity,
    averagePrice: row.averagePrice,
    overfilled: row.overfilled,
    attention: row.attention,
    ...present('cancelRequestedAt', row.cancelRequestedAt),
    ...(row.cancelRejections === 0 ? {} : { cancelRejections: row.cancelRejections }),
    ...present('venueOrderId', row.venueOrderId),
    acceptedAt: row.acceptedAt,
    updatedAt: row.updatedAt,
  };
}

function present<N extends string>(name: N, value: string | null): Partial<Record<N, string>> {
  return value === null ? {} : ({ [name]: value } as Record<N, string>);
}

/** The answer to a repeat whose stored answer is already purged: the order as it stands. */
export function answerFromOrder(row: OrderRow): { readonly statusCode: number; readonly body: string } {
  if (row.refusalCode === null) return { statusCode: 201, body: JSON.stringify(orderResource(row)) };
  const problem = problemOf(row.refusalCode, 'the order was refused', { clientOrderId: row.clientOrderId });
  return { statusCode: 409, body: JSON.stringify(problem) };
}
