import { GATE_CODES, type GateCode } from './quote-gate';

/** One register of everything that can go wrong in front of a client. docs/errors.md says what to do about each. */
export interface ErrorEntry {
  readonly status: number;
  readonly title: string;
  /** May the same request be sent again, unchanged, with a hope of another answer? */
  readonly retry: 'never' | 'later';
}

export const ERROR_CODES = {
  MALFORMED_JSON: { status: 400, title: 'The body is not valid JSON', retry: 'never' },
  INVALID_REQUEST: { status: 400, title: 'A field is missing or wrong', retry: 'never' },
  INVALID_PATH: { status: 400, title: 'The path cannot be read', retry: 'never' },
  IDEMPOTENCY_KEY_MISMATCH: {
    status: 400,
    title: 'The Idempotency-Key header differs from clientOrderId',
    retry: 'never',
  },
  UNAUTHENTICATED: { status: 401, title: 'No valid API key', retry: 'never' },
  OPERATOR_ONLY: { status: 403, title: 'The API key has no operator scope', retry: 'never' },
  NOT_FOUND: { status: 404, title: 'There is nothing here', retry: 'never' },
  ORDER_NOT_FOUND: { status: 404, title: 'There is no such order', retry: 'never' },
  POSITION_NOT_FOUND: { status: 404, title: 'There is no such position', retry: 'never' },
  EXECUTION_NOT_FOUND: { status: 404, title: 'There is no such execution set aside', retry: 'never' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'The method is not allowed here', retry: 'never' },
  PAYLOAD_TOO_LARGE: { status: 413, title: 'The body is too large', retry: 'never' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'The body must be application/json', retry: 'never' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'This key was used for another request', retry: 'never' },
  ORDER_NOT_CANCELLABLE: { status: 409, title: 'The order cannot be cancelled any more', retry: 'never' },
  ALREADY_DECIDED: { status: 409, title: 'Another decision was taken about this execution', retry: 'never' },
  DECISION_IMPOSSIBLE: { status: 409, title: 'This execution cannot be decided so', retry: 'never' },

  NO_QUOTE: { status: 409, title: 'There is no quote for this symbol', retry: 'never' },
  STALE_QUOTE: { status: 409, title: 'The quote has been silent for too long', retry: 'never' },
  STALE_AT_SOURCE: { status: 409, title: 'The quote is too old at its source', retry: 'never' },
  SUSPECT_QUOTE: { status: 409, title: 'Quotes were lost and the price is not certain', retry: 'never' },
  CLOCK_OFFSET: { status: 409, title: 'The clock of the quote source is not believable', retry: 'never' },
  EXPIRED: { status: 409, title: 'The order could not be opened in time', retry: 'never' },
  ABANDONED: { status: 409, title: 'The order was ended before it was opened', retry: 'never' },

  TEMPORAL_UNAVAILABLE: { status: 503, title: 'New orders cannot be taken at the moment', retry: 'later' },
  DATABASE_UNAVAILABLE: { status: 503, title: 'The database cannot be reached', retry: 'later' },
  DEADLINE_EXCEEDED: { status: 503, title: 'The answer took too long', retry: 'later' },
  INTERNAL: { status: 500, title: 'Something went wrong', retry: 'later' },
} as const satisfies Readonly<Record<string, ErrorEntry>> & Readonly<Record<GateCode, ErrorEntry>>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** The codes that can be the stored first answer of a key. */
export const REFUSAL_CODES = [...GATE_CODES, 'EXPIRED', 'ABANDONED'] as const;

export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** RFC 9457. `code` is ours; `errors` names the fields of a 400; other members carry facts. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail?: string;
  readonly [fact: string]: unknown;
}

/**
 * Where a code is documented, and the `type` of its problem document. Relative, so that it names no host; the fragment
 * is the anchor that the code's heading has in docs/errors.md.
 */
export function errorDocumentation(code: ErrorCode): string {
  return `/docs/errors#${code.toLowerCase()}`;
}

export function problemOf(code: ErrorCode, detail?: string, facts: Record<string, unknown> = {}): Problem {
  const { status, title } = ERROR_CODES[code];
  return {
    type: errorDocumentation(code),
    title,
    status,
    code,
    ...(detail === undefined ? {} : { detail }),
    ...facts,
  };
}
