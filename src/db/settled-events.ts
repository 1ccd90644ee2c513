import type { Execution, ExecutionIdentity } from '../domain/execution';
import { allRows, type Queryable } from './pool';

/** An event by its identity and its content. */
export interface EventContent {
  readonly execution: ExecutionIdentity & Pick<Execution, 'executedAt'>;
  /** SHA-256 of the normalised content, hexadecimal. */
  readonly contentHash: string;
}

/**
 * Which of these events, each with this very content, need nothing more: processed, or set aside as parked, as a
 * conflict or as of the wrong order, decided or not. One statement; an event that is missing from the result is new,
 * or its row is older than the dedup window, and the transaction that applies it decides.
 *
 * The same content has the same stamp. With it a partitioned table is read in one partition, not in each.
 */
export async function findSettled<E extends EventContent>(
  queryable: Queryable,
  events: readonly E[],
): Promise<Set<E>> {
  if (events.length === 0) return new Set();
  const rows = await allRows<{ number: number }>(queryable, {
    name: 'find-settled',
    text: `
      with e as materialized (
        select source, event_type, event_id, event_time, number,
               substring($5::bytea from (number * 32 - 31)::integer for 32) as content_hash
        from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) with ordinality
          as given (source, event_type, event_id, event_time, number)
      )
      select e.number::integer as "number"
      from e join processed_events p using (source, event_type, event_id, event_time)
      where p.content_hash = e.content_hash
      union all
      select e.number::integer
      from e join parked_executions k
        on (k.source, k.event_type, k.execution_id, k.content_hash)
         = (e.source, e.event_type, e.event_id, e.content_hash)
      union all
      select e.number::integer
      from e join quarantined_events q
        on (coalesce(q.source, ''), coalesce(q.event_type, ''), coalesce(q.execution_id, ''), q.content_hash)
         = (e.source, e.event_type, e.event_id, e.content_hash)
      where q.reason in ('conflict', 'wrong_order')`,
    values: [
      events.map(({ execution }) => execution.source),
      events.map(({ execution }) => execution.type),
      events.map(({ execution }) => execution.executionId),
      events.map(({ execution }) => execution.executedAt),
      // One after the other, 32 bytes each: an array of texts would take twice the bytes and much longer to write.
      Buffer.from(events.map(({ contentHash }) => contentHash).join(''), 'hex'),
    ],
  });
  return new Set(rows.map(({ number }) => events[number - 1]).filter((event) => event !== undefined));
}
