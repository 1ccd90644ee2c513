import { sha256Hex } from './digest';
import type { Execution } from './execution';

/** In the order in which they are hashed. Never reorder; a new field goes to the end, and only when present. */
const HASHED_FIELDS = [
  'accountId',
  'clientOrderId',
  'refExecutionId',
  'symbol',
  'side',
  'quantity',
  'price',
  'executedAt',
  'venueOrderId',
  'reason',
] as const satisfies readonly (keyof Execution)[];

/** SHA-256 (hexadecimal) over the normalised content: the same identity with another hash is a conflict. */
export function executionContentHash(execution: Execution): string {
  const values: (string | null)[] = [];
  for (const field of HASHED_FIELDS) values.push(execution[field] ?? null);
  return sha256Hex(JSON.stringify(values));
}
