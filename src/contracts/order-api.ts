import { z } from 'zod';
import { ORDER_TYPES, SIDES, TIMES_IN_FORCE } from '../domain/order';
import { ORDER_STATUSES } from '../domain/order-status';
import { canonicalTimestamp } from '../domain/timestamp';
import { ERROR_CODES, type ErrorCode } from './error-codes';
import { accountIdField, clientOrderIdField, symbolField } from './fields';

/** What the API answers with. The bodies are built from rows; the tests hold every answer to these. */

const decimalText = z.string().meta({
  pattern: '^-?[0-9]+(\\.[0-9]+)?$',
  description: 'An exact decimal as text, never a JSON number.',
  examples: ['1.5'],
});
export const time = z
  .string()
  .refine((text) => text.endsWith('Z') && canonicalTimestamp(text) !== undefined)
  .meta({ format: 'date-time', description: 'RFC 3339, UTC.', examples: ['2026-03-14T09:26:53.589793Z'] });
export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'Send it as `cursor` for the next page; null on the last one.' });

/** An order as it stands. Members that do not apply to it are left out. */
export const orderBody = z
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
    refusalCode: z
      .string()
      .optional()
      .meta({ description: 'Why the order was never opened; present exactly when status is REFUSED.' }),
    cumulativeQuantity: decimalText.meta({ description: 'What its fills sum up to.' }),
    averagePrice: decimalText
      .nullable()
      .meta({ description: 'Of its fills: 18 places, ties to even. Null when nothing is filled.' }),
    overfilled: z
      .boolean()
      .meta({ description: 'More was filled than ordered; the trade is booked all the same.' }),
    attention: z
      .string()
      .nullable()
      .meta({ description: 'Why an operator should look at this order; null when there is nothing to see.' }),
    cancelRequestedAt: time.optional(),
    cancelRejections: z
      .number()
      .int()
      .min(1)
      .optional()
      .meta({ description: 'How often the venue has refused to cancel the order; left out when never.' }),
    venueOrderId: z.string().optional(),
    acceptedAt: time.meta({ description: 'When it was opened or refused.' }),
    updatedAt: time,
  })
  .meta({ id: 'Order' });

export type OrderBody = z.output<typeof orderBody>;

export const orderPageBody = z
  .strictObject({ orders: z.array(orderBody), nextCursor })
  .meta({ id: 'OrderPage', description: 'Orders, newest first.' });

const orderEventBody = z
  .strictObject({
    sequence: z.int().positive(),
    type: z.string().meta({ examples: ['OPENED'] }),
    detail: z.record(z.string(), z.unknown()),
    recordedAt: time,
  })
  .meta({ id: 'OrderEvent' });

export const orderEventPageBody = z
  .strictObject({ events: z.array(orderEventBody), nextCursor })
  .meta({ id: 'OrderEventPage', description: 'What happened to an order, oldest first.' });

export const positionBody = z
  .strictObject({
    accountId: accountIdField,
    symbol: symbolField,
    quantity: decimalText.meta({ description: 'Signed: above zero is long, below zero is short.' }),
    averagePrice: decimalText
      .nullable()
      .meta({ description: '18 places, ties to even. Null exactly when flat.' }),
    realisedProfit: decimalText,
    updatedAt: time,
  })
  .meta({ id: 'Position' });

export const positionPageBody = z
  .strictObject({ positions: z.array(positionBody), nextCursor })
  .meta({ id: 'PositionPage', description: 'Positions, by symbol.' });

const positionChangeBody = z
  .strictObject({
    sequence: z
      .int()
      .positive()
      .meta({ description: 'Counts the changes of this position from 1, without a gap.' }),
    type: z.enum(['FILL', 'BUST', 'CORRECT']),
    source: z.string().meta({ description: 'Where the execution came from.', examples: ['SIM'] }),
    executionId: z.string(),
    clientOrderId: clientOrderIdField,
    quantity: decimalText.meta({ description: 'Of the position after it; signed.' }),
    averagePrice: decimalText.nullable().meta({ description: 'After it; null exactly when flat.' }),
    realisedProfit: decimalText.meta({ description: 'After it, since the first fill.' }),
    recordedAt: time,
  })
  .meta({ id: 'PositionChange', description: 'An execution and what it made of the position.' });

export const positionHistoryPageBody = z
  .strictObject({ changes: z.array(positionChangeBody), nextCursor })
  .meta({ id: 'PositionHistoryPage', description: 'What changed a position, newest first.' });

/** The answer while the outcome is not known yet. */
export const pendingOrderBody = z
  .strictObject({ clientOrderId: clientOrderIdField, outcome: z.literal('pending'), detail: z.string() })
  .meta({ id: 'PendingOrder' });

export type PendingOrderBody = z.output<typeof pendingOrderBody>;

/** RFC 9457. Further members carry the facts of a code. */
export const problemBody = z
  .looseObject({
    type: z.string().meta({ description: 'The section of docs/errors.md about the code.' }),
    title: z.string(),
    status: z.int(),
    code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]),
    detail: z.string().optional().meta({ description: 'What went wrong this time, for people.' }),
    requestId: z
      .string()
      .optional()
      .meta({ description: 'The X-Request-Id; absent in the stored answer of a refused order.' }),
    clientOrderId: clientOrderIdField.optional(),
    errors: z
      .array(z.strictObject({ field: z.string(), message: z.string() }))
      .optional()
      .meta({ description: 'INVALID_REQUEST: each field at fault.' }),
    fields: z
      .array(z.string())
      .optional()
      .meta({ description: 'IDEMPOTENCY_KEY_REUSED: the fields that differ from the first request.' }),
    orderStatus: z
      .enum(ORDER_STATUSES)
      .optional()
      .meta({ description: 'ORDER_NOT_CANCELLABLE: the status that the order has.' }),
  })
  .meta({ id: 'Problem' });

export const MAX_PAGE = 200;
const DEFAULT_PAGE = 50;

export const limit = z
  .string({ error: `must be a whole number from 1 to ${MAX_PAGE}` })
  .regex(/^[1-9]\d{0,2}$/, `must be a whole number from 1 to ${MAX_PAGE}`)
  .transform(Number)
  .refine((count) => count <= MAX_PAGE, `must be a whole number from 1 to ${MAX_PAGE}`)
  .default(DEFAULT_PAGE)
  .meta({ type: 'integer', minimum: 1, maximum: MAX_PAGE, default: DEFAULT_PAGE });

export const cursor = z
  .string({ error: 'must be the nextCursor of a page' })
  .regex(/^[A-Za-z0-9_-]{1,200}$/, 'must be the nextCursor of a page')
  .optional()
  .meta({ description: 'The `nextCursor` of the page before.' });

/** The query of `GET /v1/orders`. */
export const orderListQuery = z.strictObject({
  status: z.enum(ORDER_STATUSES).optional().meta({ description: 'Only orders that have this status.' }),
  cursor,
  limit,
});

/** The query of every other list. */
export const pageQuery = z.strictObject({ cursor, limit });
