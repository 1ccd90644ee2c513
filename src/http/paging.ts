import { invalidRequest } from './parse';

/** Opaque to clients, so that what a page is sorted by can change. */
export function encodeCursor(position: string): string {
  return Buffer.from(position, 'utf8').toString('base64url');
}

/** @throws {ProblemError} INVALID_REQUEST when the text was not given out as a cursor of this list */
export function decodeCursor(cursor: string, shape: RegExp): string {
  const position = Buffer.from(cursor, 'base64url').toString('utf8');
  if (shape.test(position) && encodeCursor(position) === cursor) return position;
  throw invalidRequest([{ field: 'cursor', message: 'must be the nextCursor of a page of this list' }]);
}

/** A page of rows and the cursor of the next one. `rows` holds one more than the page if there is a next one. */
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
