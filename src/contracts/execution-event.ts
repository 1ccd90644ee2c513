import { z } from 'zod';
import { EXECUTION_TYPES, type Execution, type ExecutionType } from '../domain/execution';
import {
  accountIdField,
  clientOrderIdField,
  decimalField,
  foreignIdField,
  noteField,
  quantityField,
  symbolField,
  timestampField,
} from './fields';

/** Names that bridges use for a side; all mean one of two things (`1` and `2` are FIX tag 54). */
const SIDE_ALIASES: Readonly<Record<string, 'buy' | 'sell'>> = {
  buy: 'buy',
  sell: 'sell',
  BUY: 'buy',
  SELL: 'sell',
  '1': 'buy',
  '2': 'sell',
};

const sideField = z
  .string({ error: 'must be "buy" or "sell" (also "BUY", "SELL", "1", "2")' })
  .transform((text, context) => {
    const side = SIDE_ALIASES[text];
    if (side !== undefined) return side;
    context.addIssue({ code: 'custom', message: 'must be "buy" or "sell" (also "BUY", "SELL", "1", "2")' });
    return z.NEVER;
  })
  .meta({ type: 'string', enum: Object.keys(SIDE_ALIASES) });

type Need = 'required' | 'forbidden';

const DEPENDING_FIELDS = ['quantity', 'price', 'refExecutionId'] as const;

/** Which of the three depending fields each type carries. */
const NEEDS: Readonly<Record<ExecutionType, Readonly<Record<(typeof DEPENDING_FIELDS)[number], Need>>>> = {
  NEW: { quantity: 'forbidden', price: 'forbidden', refExecutionId: 'forbidden' },
  FILL: { quantity: 'required', price: 'required', refExecutionId: 'forbidden' },
  CANCELLED: { quantity: 'forbidden', price: 'forbidden', refExecutionId: 'forbidden' },
  CANCEL_REJECTED: { quantity: 'forbidden', price: 'forbidden', refExecutionId: 'forbidden' },
  REJECTED: { quantity: 'forbidden', price: 'forbidden', refExecutionId: 'forbidden' },
  EXPIRED: { quantity: 'forbidden', price: 'forbidden', refExecutionId: 'forbidden' },
  BUST: { quantity: 'forbidden', price: 'forbidden', refExecutionId: 'required' },
  CORRECT: { quantity: 'required', price: 'required', refExecutionId: 'required' },
};

/** One message of the topic `executions`; its Kafka key is the order's workflow id. Documented in docs/executions.md. */
export const executionEvent = z
  .strictObject({
    source: foreignIdField,
    type: z.enum(EXECUTION_TYPES),
    executionId: foreignIdField,
    refExecutionId: foreignIdField.optional(),
    accountId: accountIdField,
    clientOrderId: clientOrderIdField,
    symbol: symbolField,
    side: sideField,
    quantity: quantityField.optional(),
    price: decimalField.optional(),
    executedAt: timestampField,
    venueOrderId: foreignIdField.optional(),
    reason: noteField.optional(),
  })
  .superRefine((event, context) => {
    for (const field of DEPENDING_FIELDS) {
      const need = NEEDS[event.type][field];
      const present = event[field] !== undefined;
      if (need === 'required' && !present) {
        context.addIssue({ code: 'custom', path: [field], message: `is required for type ${event.type}` });
      }
      if (need === 'forbidden' && present) {
        context.addIssue({
          code: 'custom',
          path: [field],
          message: `must be left out for type ${event.type}`,
        });
      }
    }
  })
  .meta({ id: 'ExecutionEvent' });

export type ExecutionEvent = z.input<typeof executionEvent>;

/**
 * The execution of an event that was parsed from JSON. Zod's type allows a member that is there and undefined; JSON has
 * none, so the absent ones are truly absent.
 */
export function executionOf(event: z.output<typeof executionEvent>): Execution {
  return event as Execution;
}
