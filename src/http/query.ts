import type { Request } from 'express';
import { z } from 'zod';
import { fieldFaults } from '../contracts/fields';
import { ProblemError } from './problem';

export const MAX_PAGE = 200;
const DEFAULT_PAGE = 50;

/** How many rows a page holds. */
export const limitParameter = z.coerce
  .number({ error: `must be a whole number from 1 to ${MAX_PAGE}` })
  .int(`must be a whole number from 1 to ${MAX_PAGE}`)
  .min(1, `must be a whole number from 1 to ${MAX_PAGE}`)
  .max(MAX_PAGE, `must be a whole number from 1 to ${MAX_PAGE}`)
  .default(DEFAULT_PAGE);

/** Where the next page begins: given out by the page before, opaque to clients. */
export const cursorParameter = z.string().regex(/^[A-Za-z0-9_-]{1,200}$/, 'must be the nextCursor of a page');

export function encodeCursor(position: string): string {
  return Buffer.from(position, 'utf8').toString('base64url');
}

/** @throws {ProblemError} when the text was not given out as a cursor of this list. */
export function decodeCursor(cursor: string, shape: RegExp): string {
  const position = Buffer.from(cursor, 'base64url').toString('utf8');
  if (shape.test(position)) return position;
  throw new ProblemError('INVALID_REQUEST', 'cursor: must be the nextCursor of a page', {
    errors: [{ field: 'cursor', message: 'must be the nextCursor of a page' }],
  });
}

/**
 * The query of a request; a parameter that is not known is refused, since a misspelt filter would list too much.
 * @throws {ProblemError} INVALID_REQUEST
 */
export function parseQuery<T>(schema: z.ZodType<T>, request: Request): T {
  return parseOr400(schema, request.query);
}

/** @throws {ProblemError} INVALID_REQUEST with every field at fault */
export function parseOr400<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const errors = fieldFaults(parsed.error);
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join('; ');
  throw new ProblemError('INVALID_REQUEST', detail, { errors });
}

/** A page of rows and the cursor of the next one. One row more than the page is asked for, to know whether there is one. */
export function pageOf<R>(
  rows: readonly R[],
  limit: number,
  position: (row: R) => string,
): { readonly items: readonly R[]; readonly nextCursor: string | null } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items, nextCursor: more ? encodeCursor(position(last)) : null };
}
