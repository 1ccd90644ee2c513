import { z } from 'zod';
import { ORDER_TYPES, SIDES, TIMES_IN_FORCE } from '../domain/order';
import {
  accountIdField,
  clientOrderIdField,
  decimalField,
  quantityField,
  symbolField,
  timestampField,
} from './fields';

export const VENUE_COMMANDS = ['NEW_ORDER', 'CANCEL', 'STATUS_REQUEST'] as const;

/**
 * One message of the topic `venue-commands`; its Kafka key is the order's workflow id. It may be delivered more than
 * once: a bridge acts on (accountId, clientOrderId, command, attempt) once.
 */
export const venueCommand = z
  .strictObject({
    command: z.enum(VENUE_COMMANDS),
    accountId: accountIdField,
    clientOrderId: clientOrderIdField,
    symbol: symbolField,
    side: z.enum(SIDES),
    quantity: quantityField,
    type: z.enum(ORDER_TYPES),
    limitPrice: decimalField.optional(),
    timeInForce: z.enum(TIMES_IN_FORCE),
    expireAt: timestampField.optional(),
    /** Of a CANCEL: 1 when left out; one more after each that the venue has refused. */
    attempt: z.number().int().min(1).optional(),
  })
  .meta({ id: 'VenueCommand' });

export type VenueCommand = z.output<typeof venueCommand>;
