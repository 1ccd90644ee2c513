import { z } from 'zod';
import { ORDER_TYPES, SIDES, TIMES_IN_FORCE } from '../domain/order';
import { ORDER_STATUSES } from '../domain/order-status';
import { accountIdField, clientOrderIdField, symbolField } from './fields';

const decimalText = z.string().meta({ examples: ['1.5'], description: 'Exact decimal as text' });
const time = z.iso.datetime().meta({ description: 'RFC 3339, UTC' });

/** An order as the API shows it. */
export const orderResource = z
  .strictObject({
    accountId: accountIdField,
    clientOrderId: clientOrderIdField,
    symbol: symbolField,
    side: z.enum(SIDES),
    quantity: decimalText,
    type: z.enum(ORDER_TYPES),
    limitPrice: decimalText.optional(),
    timeInForce: z.enum(TIMES_IN_FORCE),
    expireAt: time.optional(),
    status: z.enum(ORDER_STATUSES),
    refusalCode: z.string().optional(),
    cumulativeQuantity: decimalText,
    averagePrice: decimalText.nullable(),
    overfilled: z.boolean(),
    attention: z.string().nullable(),
    cancelRequestedAt: time.optional(),
    venueOrderId: z.string().optional(),
    acceptedAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Order' });

export const orderPage = z
  .strictObject({ orders: z.array(orderResource), nextCursor: z.string().nullable() })
  .meta({ id: 'OrderPage' });

export const orderEvent = z
  .strictObject({
    sequence: z.int(),
    type: z.string(),
    detail: z.record(z.string(), z.unknown()),
    recordedAt: time,
  })
  .meta({ id: 'OrderEvent' });

export const orderEventPage = z
  .strictObject({ events: z.array(orderEvent), nextCursor: z.string().nullable() })
  .meta({ id: 'OrderEventPage' });

export const positionResource = z
  .strictObject({
    accountId: accountIdField,
    symbol: symbolField,
    quantity: decimalText.meta({ description: 'Signed: above zero is long' }),
    averagePrice: decimalText.nullable().meta({ description: 'Null exactly when flat' }),
    realisedProfit: decimalText,
    updatedAt: time,
  })
  .meta({ id: 'Position' });

export const positionPage = z
  .strictObject({ positions: z.array(positionResource), nextCursor: z.string().nullable() })
  .meta({ id: 'PositionPage' });

/** The answer when the outcome is not known yet. */
export const pendingResource = z
  .strictObject({ clientOrderId: clientOrderIdField, outcome: z.literal('pending'), detail: z.string() })
  .meta({ id: 'PendingOrder' });

/** RFC 9457. */
export const problemDocument = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string().optional(),
    requestId: z.string().optional(),
    errors: z.array(z.strictObject({ field: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem' });

export type OrderResource = z.output<typeof orderResource>;
