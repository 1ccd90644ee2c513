import { sha256Hex } from './digest';
import type { OrderRequest } from './order';

/** The fields that make two requests the same one, in the order in which they are hashed. Never reorder. */
export const HASHED_FIELDS = [
  'symbol',
  'side',
  'quantity',
  'type',
  'limitPrice',
  'timeInForce',
  'expireAt',
] as const satisfies readonly (keyof OrderRequest)[];

export type HashedField = (typeof HASHED_FIELDS)[number];

/**
 * SHA-256 (hexadecimal) over the normalised fields. The key itself is not hashed: it says *which* order, the hash
 * says *what* was asked. A JSON array leaves no doubt where a field ends, and an absent field is not an empty one.
 */
export function requestHash(request: OrderRequest): string {
  return sha256Hex(JSON.stringify(HASHED_FIELDS.map((field) => request[field] ?? null)));
}

/** The fields in which two requests differ, by name. */
export function differingFields(
  first: Pick<OrderRequest, HashedField>,
  second: Pick<OrderRequest, HashedField>,
): HashedField[] {
  return HASHED_FIELDS.filter((field) => first[field] !== second[field]);
}
