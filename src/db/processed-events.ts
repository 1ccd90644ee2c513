import { executionIdentityText, type ExecutionIdentity } from '../domain/execution';
import { allRows, type Queryable } from './pool';

/** What `findProcessed` knows: identity text (see `executionIdentityText`) → content hash, hexadecimal. */
export type ProcessedHashes = ReadonlyMap<string, string>;

/**
 * Looks up a batch of identities in one statement. An identity that is missing has not been processed, or its row is
 * older than the dedup window; the transaction that applies it decides.
 */
export async function findProcessed(
  queryable: Queryable,
  identities: readonly ExecutionIdentity[],
): Promise<ProcessedHashes> {
  if (identities.length === 0) return new Map();
  const rows = await allRows<ExecutionIdentity & { hash: string }>(queryable, {
    name: 'find-processed',
    text: `
      select p.source as "source", p.event_type as "type", p.event_id as "executionId",
             encode(p.content_hash, 'hex') as "hash"
      from unnest($1::text[], $2::text[], $3::text[]) as e (source, event_type, event_id)
      join processed_events p using (source, event_type, event_id)`,
    values: [
      identities.map((identity) => identity.source),
      identities.map((identity) => identity.type),
      identities.map((identity) => identity.executionId),
    ],
  });
  return new Map(rows.map((row) => [executionIdentityText(row), row.hash]));
}
