import { z } from 'zod';
import { ORDER_TYPES, SIDES, TIMES_IN_FORCE, type OrderRequest } from '../domain/order';
import { clientOrderIdField, decimalField, quantityField, symbolField, timestampField } from './fields';

/** The body of `POST /v1/orders`. The account is not in it: it comes from the API key. */
export const orderRequestBody = z
  .strictObject({
    clientOrderId: clientOrderIdField,
    symbol: symbolField,
    side: z.enum(SIDES),
    quantity: quantityField,
    type: z.enum(ORDER_TYPES),
    limitPrice: decimalField.optional(),
    timeInForce: z.enum(TIMES_IN_FORCE),
    expireAt: timestampField
      .refine((text) => !/\.\d{4,}Z$/.test(text), {
        error: 'must have at most three digits after the second',
      })
      .optional(),
  })
  .superRefine((body, context) => {
    const fault = (field: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [field], message });
    };
    if (body.type === 'limit' && body.limitPrice === undefined) {
      fault('limitPrice', 'is required when type is "limit"');
    }
    if (body.type === 'market' && body.limitPrice !== undefined) {
      fault('limitPrice', 'must be left out when type is "market"');
    }
    if (body.timeInForce === 'gtd' && body.expireAt === undefined) {
      fault('expireAt', 'is required when timeInForce is "gtd"');
    }
    if (body.timeInForce !== 'gtd' && body.expireAt !== undefined) {
      fault('expireAt', 'must be left out unless timeInForce is "gtd"');
    }
  })
  .meta({ id: 'OrderRequest' });

/** The request of one account, ready to be hashed. */
export function orderRequestOf(accountId: string, body: z.output<typeof orderRequestBody>): OrderRequest {
  const { limitPrice, expireAt, ...rest } = body;
  return {
    accountId,
    ...rest,
    ...(limitPrice === undefined ? {} : { limitPrice }),
    ...(expireAt === undefined ? {} : { expireAt }),
  };
}
