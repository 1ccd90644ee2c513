import type { Execution } from '../domain/execution';
import { executionContentHash } from '../domain/execution-hash';
import type { Queryable } from './pool';

/** An execution that was read but must not be applied. */
export interface RefusedExecution {
  /** `conflict`: a known identity with other content. `wrong_order`: it contradicts the order that it names. */
  readonly reason: 'conflict' | 'wrong_order';
  /** One sentence for an operator. */
  readonly detail: string;
  readonly execution: Execution;
  /** For a conflict: what was processed first. */
  readonly otherPayload?: string;
}

/** A message that cannot be read as an execution. */
export interface MalformedMessage {
  readonly reason: 'malformed';
  readonly detail: string;
  /** The value as text; bytes that are no text are base64 with the prefix `base64:`. */
  readonly payload: string;
  /** SHA-256 of the message, hexadecimal: what is equal is the same finding, met again. */
  readonly contentHash: string;
  /** What could be made out, for those who search. */
  readonly fields: Readonly<
    Partial<Record<'source' | 'type' | 'executionId' | 'accountId' | 'clientOrderId', string>>
  >;
  readonly origin: MessageOrigin;
}

/** Where a Kafka message stands. */
export interface MessageOrigin {
  readonly topic: string;
  readonly partition: number;
  /** 64-bit, hence text. */
  readonly offset: string;
}

export type QuarantinedEvent = RefusedExecution | MalformedMessage;

/**
 * Puts events aside for a person to decide. The same content met again raises `times_seen`; reading the same message
 * again (a replay of the topic, a crash before the commit) does not.
 * @returns those that were not in quarantine before.
 */
export async function insertQuarantined<E extends QuarantinedEvent>(
  queryable: Queryable,
  events: readonly E[],
): Promise<Set<E>> {
  if (events.length === 0) return new Set();
  const rows = mergeRepeats(events.map(rowOf));
  const result = await queryable.query<{ identity: string }>({
    text: `
      insert into quarantined_events as q
        (reason, detail, source, event_type, execution_id, account_id, client_order_id, content_hash, payload,
         other_payload, topic, topic_partition, topic_offset, times_seen)
      select e.reason, e.detail, e.source, e.event_type, e.execution_id, e.account_id, e.client_order_id,
             decode(e.content_hash, 'hex'), e.payload, e.other_payload, e.topic, e.topic_partition, e.topic_offset,
             e.times_seen
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                  $9::text[], $10::text[], $11::text[], $12::integer[], $13::bigint[], $14::integer[])
        as e (reason, detail, source, event_type, execution_id, account_id, client_order_id, content_hash, payload,
              other_payload, topic, topic_partition, topic_offset, times_seen)
      on conflict (reason, coalesce(source, ''), coalesce(event_type, ''), coalesce(execution_id, ''), content_hash)
      do update set times_seen = q.times_seen + excluded.times_seen, topic = excluded.topic,
                    topic_partition = excluded.topic_partition, topic_offset = excluded.topic_offset
      where excluded.topic is null
         or (q.topic, q.topic_partition) is distinct from (excluded.topic, excluded.topic_partition)
         or excluded.topic_offset > q.topic_offset
      returning case when xmax = 0 then jsonb_build_array(
        q.reason, coalesce(q.source, ''), coalesce(q.event_type, ''), coalesce(q.execution_id, ''),
        encode(q.content_hash, 'hex')) end as "identity"`,
    values: COLUMNS.map((column) => rows.map((row) => row[column])),
  });
  // xmax is zero on a row that this statement inserted, and not on one that it updated.
  const inserted = new Set(result.rows.map((row) => JSON.stringify(row.identity)));
  return new Set(events.filter((event) => inserted.has(identityOf(rowOf(event)))));
}

/** What the unique index compares. */
function identityOf(row: Row): string {
  return JSON.stringify([
    row.reason,
    row.source ?? '',
    row.type ?? '',
    row.executionId ?? '',
    row.contentHash,
  ]);
}

interface Row {
  readonly reason: string;
  readonly detail: string;
  readonly source: string | null;
  readonly type: string | null;
  readonly executionId: string | null;
  readonly accountId: string | null;
  readonly clientOrderId: string | null;
  readonly contentHash: string;
  readonly payload: string;
  readonly otherPayload: string | null;
  readonly topic: string | null;
  readonly partition: number | null;
  readonly offset: string | null;
  readonly timesSeen: number;
}

/** In the order of the statement's parameters. */
const COLUMNS = [
  'reason',
  'detail',
  'source',
  'type',
  'executionId',
  'accountId',
  'clientOrderId',
  'contentHash',
  'payload',
  'otherPayload',
  'topic',
  'partition',
  'offset',
  'timesSeen',
] as const satisfies readonly (keyof Row)[];

function rowOf(event: QuarantinedEvent): Row {
  const fields = event.reason === 'malformed' ? event.fields : event.execution;
  const common = {
    reason: event.reason,
    detail: postgresText(event.detail),
    source: postgresTextOrNull(fields.source),
    type: postgresTextOrNull(fields.type),
    executionId: postgresTextOrNull(fields.executionId),
    accountId: postgresTextOrNull(fields.accountId),
    clientOrderId: postgresTextOrNull(fields.clientOrderId),
    timesSeen: 1,
  };
  if (event.reason === 'malformed') {
    const { payload, contentHash, origin } = event;
    return { ...common, payload, contentHash, otherPayload: null, ...origin };
  }
  return {
    ...common,
    payload: JSON.stringify(event.execution),
    contentHash: executionContentHash(event.execution),
    otherPayload: event.otherPayload ?? null,
    topic: null,
    partition: null,
    offset: null,
  };
}

/** One statement may touch a row only once: repeats within the batch become one row that was seen more often. */
function mergeRepeats(rows: readonly Row[]): Row[] {
  const merged = new Map<string, Row>();
  for (const row of rows) {
    const key = identityOf(row);
    const timesSeen = (merged.get(key)?.timesSeen ?? 0) + 1;
    merged.set(key, { ...row, timesSeen });
  }
  return [...merged.values()];
}

/** PostgreSQL holds neither U+0000 nor half a surrogate pair; what describes a hostile event may contain both. */
function postgresText(text: string): string {
  return text.replaceAll(/[\0\p{Cs}]/gu, '\ufffd');
}

function postgresTextOrNull(text: string | undefined): string | null {
  return text === undefined ? null : postgresText(text);
}
