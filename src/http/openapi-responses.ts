import type { z } from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { ERROR_CODES, problemOf, REFUSAL_CODES, type ErrorCode } from '../contracts/error-codes';

type Headers = Record<string, { description: string; schema: { type: 'string' | 'integer' } }>;

export const REQUEST_ID: Headers = {
  'X-Request-Id': {
    description:
      'The id of this request: as sent, when it was 1 to 64 letters, digits or . _ -, else a new one',
    schema: { type: 'string' },
  },
};

const RETRY_AFTER: Headers = {
  'Retry-After': { description: 'Seconds to wait before sending it again', schema: { type: 'integer' } },
};

const LOCATION: Headers = {
  Location: { description: 'Where the order can be read', schema: { type: 'string' } },
};

/** Of the first answer of a key, and of every repeat of it. */
export const ANSWER_HEADERS: Headers = {
  ...REQUEST_ID,
  ...LOCATION,
  'Idempotency-Replayed': {
    description: '`true` when this is the stored answer to an earlier request, else absent',
    schema: { type: 'string' },
  },
};

export const PENDING_HEADERS: Headers = { ...REQUEST_ID, ...LOCATION, ...RETRY_AFTER };

export interface JsonResponse {
  readonly description: string;
  readonly schema: z.ZodType;
  readonly example: unknown;
  readonly headers?: Headers;
}

export function json({ description, schema, example, headers }: JsonResponse): ZodOpenApiResponseObject {
  return {
    description,
    headers: headers ?? REQUEST_ID,
    content: { 'application/json': { schema, example } },
  };
}

/** Every request can meet these. */
const COMMON_CODES = [
  'INVALID_REQUEST',
  'UNAUTHENTICATED',
  'INTERNAL',
  'DATABASE_UNAVAILABLE',
  'DEADLINE_EXCEEDED',
] as const satisfies readonly ErrorCode[];

/** The problem responses of an operation by status; each names its codes and shows each. */
export function problems(...codes: readonly ErrorCode[]): ZodOpenApiResponsesObject {
  const all = [...codes, ...COMMON_CODES];
  const statuses = new Set(all.map((code) => ERROR_CODES[code].status));
  return Object.fromEntries(
    [...statuses].map((status) => [
      String(status),
      problem(all.filter((code) => ERROR_CODES[code].status === status)),
    ]),
  );
}

const REFUSALS: ReadonlySet<ErrorCode> = new Set(REFUSAL_CODES);

function problem(codes: readonly ErrorCode[]): ZodOpenApiResponseObject {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code].title}.`).join('\n'),
    headers: {
      ...(codes.some((code) => REFUSALS.has(code)) ? ANSWER_HEADERS : REQUEST_ID),
      ...(codes.some((code) => ERROR_CODES[code].retry === 'later') ? RETRY_AFTER : {}),
    },
    content: {
      'application/problem+json': {
        schema: {
          allOf: [{ $ref: '#/components/schemas/Problem' }],
          properties: { code: { enum: [...codes] } },
        },
        examples: Object.fromEntries(codes.map((code) => [code, { value: problemOf(code) }])),
      },
    },
  };
}
