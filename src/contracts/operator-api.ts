import { z } from 'zod';
import { accountIdField, clientOrderIdField, foreignIdField } from './fields';
import { cursor, limit, nextCursor, time } from './order-api';

/** What an operator's key reads and decides: executions that were set aside. Documented in docs/operations.md. */

/** Why an event was not applied. The first three are in quarantine; `parked` waits for its order. */
export const SET_ASIDE_REASONS = ['malformed', 'conflict', 'wrong_order', 'parked'] as const;

export type SetAsideReason = (typeof SET_ASIDE_REASONS)[number];

export const OPERATOR_DECISIONS = ['replay', 'adopt', 'discard'] as const;

export type OperatorDecision = (typeof OPERATOR_DECISIONS)[number];

const DECISION_OUTCOMES = ['applied', 'duplicate', 'outside_window', 'parked', 'discarded'] as const;

const foreignText = z
  .string()
  .nullable()
  .meta({ description: 'As the event says; null where it could not be read.' });

const decisionBody = z
  .strictObject({
    decision: z.enum(OPERATOR_DECISIONS),
    reason: z.string(),
    decidedBy: z.string(),
    outcome: z.enum(DECISION_OUTCOMES).meta({ description: 'What came of it.' }),
    accountId: z
      .string()
      .nullable()
      .meta({ description: 'With `clientOrderId` the order; null for a discard.' }),
    clientOrderId: z.string().nullable(),
    decidedAt: time,
  })
  .meta({ id: 'Decision', description: 'What was decided about an event, once and for all.' });

export type DecisionBody = z.output<typeof decisionBody>;

export const setAsideBody = z
  .strictObject({
    id: z
      .string()
      .meta({ description: '`q…` for the quarantine, `p…` for what is parked.', examples: ['q12'] }),
    reason: z.enum(SET_ASIDE_REASONS),
    detail: z.string().meta({ description: 'What is wrong with it, for people.' }),
    source: foreignText,
    type: foreignText,
    executionId: foreignText,
    accountId: foreignText,
    clientOrderId: foreignText,
    timesSeen: z.int().positive(),
    setAsideAt: time,
    decision: decisionBody.nullable().meta({ description: 'Null while nobody has decided.' }),
  })
  .meta({ id: 'SetAsideExecution' });

export type SetAsideBody = z.output<typeof setAsideBody>;

export const setAsidePageBody = z
  .strictObject({ executions: z.array(setAsideBody), nextCursor })
  .meta({ id: 'SetAsideExecutionPage', description: 'Executions that were set aside, newest first.' });

export const setAsideContentBody = setAsideBody
  .extend({
    payload: z
      .string()
      .meta({ description: 'As it came; bytes that are no text are base64 behind `base64:`.' }),
    contentHash: z.string().meta({ description: 'SHA-256, hexadecimal.' }),
    firstContentHash: z
      .string()
      .nullable()
      .meta({ description: 'Of a conflict: the hash of what was processed first, as `sha256:…`.' }),
    firstContent: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'Of a conflict: what was processed first, as far as it is known.' }),
    message: z
      .strictObject({ topic: z.string(), partition: z.int(), offset: z.string() })
      .nullable()
      .meta({ description: 'Of a malformed event: where its message stands.' }),
  })
  .meta({ id: 'SetAsideExecutionContent' });

export type SetAsideContentBody = z.output<typeof setAsideContentBody>;

/** The answer to a decision. */
export const decidedBody = z
  .strictObject({
    id: z.string(),
    decision: decisionBody,
    repeated: z.boolean().meta({
      description: 'The same had been decided before; nothing was changed, and the first is shown.',
    }),
  })
  .meta({ id: 'Decided' });

const reason = z
  .string({ error: 'must be a text of 1 to 1000 characters: why this is decided' })
  .trim()
  // Neither UTF-8 nor PostgreSQL can hold the excluded ones.
  .regex(/^[^\p{Cs}\u0000]{1,1000}$/u, 'must have 1 to 1000 characters: why this is decided') // eslint-disable-line no-control-regex
  .meta({ type: 'string', minLength: 1, maxLength: 1_000, examples: ['agreed with the venue by phone'] });

export const decisionRequestBody = z.strictObject({ reason }).meta({ id: 'DecisionRequest' });

export const adoptRequestBody = z
  .strictObject({
    reason,
    order: z
      .strictObject({ accountId: accountIdField, clientOrderId: clientOrderIdField })
      .optional()
      .meta({ description: 'The order that it belongs to, when that is not the one which it names.' }),
  })
  .meta({ id: 'AdoptRequest' });

const DECIDED_HELP = 'must be "true" or "false"';

/** The query of `GET /v1/operator/executions`. */
export const setAsideListQuery = z.strictObject({
  reason: z.enum(SET_ASIDE_REASONS).optional().meta({ description: 'Only those set aside for this.' }),
  accountId: accountIdField.optional(),
  clientOrderId: clientOrderIdField.optional(),
  source: foreignIdField.optional(),
  decided: z
    .enum(['true', 'false'], { error: DECIDED_HELP })
    .default('false')
    .transform((text) => text === 'true')
    .meta({ description: 'Also those that were decided about.' }),
  cursor,
  limit,
});
