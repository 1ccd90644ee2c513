import { z } from 'zod';
import { canonicalDecimal, isDecimalText, MAX_FRACTION_DIGITS, MAX_INTEGER_DIGITS } from '../domain/decimal';
import { ACCOUNT_ID, isClientOrderId, SYMBOL } from '../domain/ids';
import { canonicalTimestamp } from '../domain/timestamp';

/** The fields that more than one contract is made of. Each message says what would be right. */

const DECIMAL_HELP = `a decimal string such as "1.5": up to ${MAX_INTEGER_DIGITS} digits before the point and ${MAX_FRACTION_DIGITS} after it, no exponent, no leading zeros`;

/** A decimal as text, made canonical. A JSON number is refused: it may have lost digits before it got here. */
export const decimalField = z
  .string({
    error: (issue) =>
      typeof issue.input === 'number'
        ? `must be ${DECIMAL_HELP}; a JSON number is refused because it is read as a double and may lose digits`
        : `must be ${DECIMAL_HELP}`,
  })
  .refine(isDecimalText, { error: `must be ${DECIMAL_HELP}`, abort: true })
  .transform(canonicalDecimal)
  .meta({ type: 'string', pattern: '^-?(0|[1-9][0-9]{0,19})(\\.[0-9]{1,18})?$', examples: ['1.5'] });

/** A decimal above zero. */
export const quantityField = decimalField.refine((text) => text !== '0' && !text.startsWith('-'), {
  error: 'must be above zero',
});

export const accountIdField = z
  .string()
  .regex(
    ACCOUNT_ID,
    'must be 1 to 64 letters, digits, hyphens or underscores, starting with a letter or digit',
  )
  .meta({ examples: ['acme'] });

export const clientOrderIdField = z
  .string({ error: 'must be a string of 1 to 128 printable ASCII characters without spaces' })
  .refine(isClientOrderId, {
    error: 'must be 1 to 128 printable ASCII characters without spaces, and neither "." nor ".."',
  })
  .meta({ type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$', examples: ['2026-03-14-0001'] });

export const symbolField = z
  .string()
  .regex(SYMBOL, 'must be 1 to 32 upper-case letters, digits or . _ / -, starting with a letter or digit')
  .meta({ examples: ['EURUSD'] });

/** RFC 3339, years 1970 to 9999, made canonical (UTC, no trailing zeros). */
export const timestampField = z
  .string()
  .transform((text, context) => {
    const canonical = canonicalTimestamp(text);
    if (canonical !== undefined) return canonical;
    context.addIssue({
      code: 'custom',
      message: 'must be an RFC 3339 time of the years 1970 to 9999, such as "2026-03-14T09:26:53.589Z"',
    });
    return z.NEVER;
  })
  .meta({ type: 'string', format: 'date-time', examples: ['2026-03-14T09:26:53.589Z'] });

// Half of a surrogate pair is no character: neither UTF-8 nor PostgreSQL can hold it.
const PRINTABLE_ID = /^[^\p{Cc}\p{Cs}]{1,256}$/u;
const PLAIN_TEXT = /^[^\p{Cs}\u0000]{0,1000}$/u; // eslint-disable-line no-control-regex -- U+0000 is what is refused

/** Another party's words, kept and shown, never acted upon. */
export const noteField = z
  .string()
  .regex(PLAIN_TEXT, 'must be at most 1000 characters, without U+0000 and halves of surrogate pairs');

/** An id that another party chose. Always a string: numbers beyond 2^53 would be changed by reading them. */
export const foreignIdField = z
  .string({
    error: (issue) =>
      typeof issue.input === 'number'
        ? 'must be a string; a JSON number is refused because ids beyond 2^53 would be changed by reading them'
        : 'must be a string of 1 to 256 printable characters',
  })
  .regex(PRINTABLE_ID, 'must be 1 to 256 characters without control characters')
  .meta({ examples: ['E-1000'] });

export interface FieldFault {
  /** Dotted path, e.g. `quantity`; `(body)` for the whole. */
  readonly field: string;
  readonly message: string;
}

/** The faults of a failed parse, one line a field. */
export function fieldFaults(error: z.ZodError): FieldFault[] {
  return error.issues.map((issue) => ({
    field: issue.path.length === 0 ? '(body)' : issue.path.map(String).join('.'),
    message: issue.message,
  }));
}
