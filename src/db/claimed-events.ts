import { executionIdentityText, type Execution, type ExecutionIdentity } from '../domain/execution';
import { executionContentHash } from '../domain/execution-hash';
import { allRows, type PoolClient } from './pool';
import { findProcessed } from './processed-events';

/** What became of the identities of a batch. */
export interface ClaimedEvents {
  /** First of their identity: their effect belongs to this transaction. */
  readonly claimed: readonly Execution[];
  /** Came again with the same content, or an operator has decided about this very content. */
  readonly duplicates: readonly Execution[];
  /** Came again with other content; the hash (hexadecimal) is that of the first. */
  readonly conflicts: readonly { readonly execution: Execution; readonly firstHash: string }[];
}

/**
 * The core of the dedup: `insert … on conflict do nothing`. What comes back is new and is ours; what does not is a
 * repeat (same content) or a conflict (other content). The constraint decides, however many run this at once.
 */
export async function claimEvents(
  connection: PoolClient,
  executions: readonly Execution[],
): Promise<ClaimedEvents> {
  const hashed = executions.map((execution) => ({ execution, hash: executionContentHash(execution) }));
  const candidates = new Map<string, Hashed>();
  for (const event of hashed) {
    const identity = executionIdentityText(event.execution);
    if (!candidates.has(identity)) candidates.set(identity, event);
  }
  const inserted = await insertProcessed(connection, inLockOrder(candidates));
  // A fresh statement, so that the row of whoever won is visible.
  const missing = [...candidates].filter(([identity]) => !inserted.has(identity));
  const known = await findProcessed(
    connection,
    missing.map(([, { execution }]) => execution),
  );
  return verdicts(hashed, { candidates, inserted, known });
}

interface Hashed {
  readonly execution: Execution;
  readonly hash: string;
}

/** Two transactions that claim some of the same identities wait for each other in one direction only. */
function inLockOrder(candidates: ReadonlyMap<string, Hashed>): Hashed[] {
  return [...candidates].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, event]) => event);
}

interface Claims {
  /** The first of each identity. */
  readonly candidates: ReadonlyMap<string, Hashed>;
  /** The identities that are ours now. */
  readonly inserted: ReadonlySet<string>;
  /** The content hashes of those that had been processed. */
  readonly known: ReadonlyMap<string, string>;
}

function verdicts(hashed: readonly Hashed[], { candidates, inserted, known }: Claims): ClaimedEvents {
  const claimed: Execution[] = [];
  const duplicates: Execution[] = [];
  const conflicts: { execution: Execution; firstHash: string }[] = [];
  for (const event of hashed) {
    const identity = executionIdentityText(event.execution);
    const candidate = candidates.get(identity);
    const firstHash = known.get(identity) ?? candidate?.hash ?? event.hash;
    if (inserted.has(identity) && candidate === event) claimed.push(event.execution);
    else if (firstHash === event.hash) duplicates.push(event.execution);
    else conflicts.push({ execution: event.execution, firstHash });
  }
  return { claimed, duplicates, conflicts };
}

/**
 * Leaves out what an operator has decided about while it was parked: a copy of it may still be on its way here when
 * the order appears, and it must not be applied behind the operator's back. The rows are inserted in the order given,
 * which the plan for leaving out would else be free to change.
 */
async function insertProcessed(connection: PoolClient, candidates: readonly Hashed[]): Promise<Set<string>> {
  const rows = await allRows<ExecutionIdentity>(connection, {
    name: 'claim-events',
    text: `
      insert into processed_events (source, event_type, event_id, content_hash, event_time)
      select e.source, e.event_type, e.event_id, decode(e.hash, 'hex'), e.event_time
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[]) with ordinality
        as e (source, event_type, event_id, hash, event_time, number)
      where not exists (
        select from parked_executions k
        where k.source = e.source and k.event_type = e.event_type and k.execution_id = e.event_id
          and k.content_hash = decode(e.hash, 'hex') and k.decision_id is not null)
      order by e.number
      on conflict on constraint processed_events_pkey do nothing
      returning source as "source", event_type as "type", event_id as "executionId"`,
    values: [
      candidates.map(({ execution }) => execution.source),
      candidates.map(({ execution }) => execution.type),
      candidates.map(({ execution }) => execution.executionId),
      candidates.map(({ hash }) => hash),
      candidates.map(({ execution }) => execution.executedAt),
    ],
  });
  return new Set(rows.map(executionIdentityText));
}
