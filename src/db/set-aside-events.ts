import type { SetAsideBody, SetAsideContentBody, SetAsideReason } from '../contracts/operator-api';
import { allRows, firstRow, type Queryable } from './pool';

const SET_ASIDE_ID = /^[qp][1-9]\d{0,17}$/;

/** What is undefined does not filter. */
export interface SetAsideFilter {
  readonly reason?: SetAsideReason | undefined;
  readonly accountId?: string | undefined;
  readonly clientOrderId?: string | undefined;
  readonly source?: string | undefined;
  /** Also those that were decided about. */
  readonly decided: boolean;
  /** Continue behind this one. */
  readonly after?: Pick<SetAsideBody, 'setAsideAt' | 'id'> | undefined;
  readonly limit: number;
}

const utc = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Both tables as one, to be filtered by `kind` and `number`, which each has an index on. */
const SET_ASIDE = `
  (select 'q' as kind, id as number, reason, detail, source, event_type, execution_id, account_id, client_order_id,
          times_seen, quarantined_at as set_aside_at, decision_id, content_hash, payload, other_payload, topic,
          topic_partition, topic_offset
   from quarantined_events
   union all
   select 'p', sequence, 'parked', 'there is no order ' || client_order_id || ' of account ' || account_id, source,
          event_type, execution_id, account_id, client_order_id, 1, parked_at, decision_id, content_hash,
          execution::text, null, null, null, null
   from parked_executions) s
  left join operator_decisions d on d.id = s.decision_id`;

const COLUMNS = `
  s.kind || s.number as "id", s.reason as "reason", s.detail as "detail", s.source as "source",
  s.event_type as "type", s.execution_id as "executionId", s.account_id as "accountId",
  s.client_order_id as "clientOrderId", s.times_seen as "timesSeen", ${utc('s.set_aside_at')} as "setAsideAt",
  case when d.id is not null then jsonb_build_object(
    'decision', d.decision, 'reason', d.reason, 'decidedBy', d.decided_by, 'outcome', d.outcome,
    'accountId', d.account_id, 'clientOrderId', d.client_order_id, 'decidedAt', ${utc('d.decided_at')}
  ) end as "decision"`;

/** Newest first. Without `decided` only those that wait for a decision. */
export async function listSetAside(queryable: Queryable, filter: SetAsideFilter): Promise<SetAsideBody[]> {
  const { reason, accountId, clientOrderId, source, decided, after, limit } = filter;
  return allRows<SetAsideBody>(queryable, {
    text: `
      select ${COLUMNS}
      from ${SET_ASIDE}
      where ($1::text is null or s.reason = $1::text)
        and ($2::text is null or s.account_id = $2::text)
        and ($3::text is null or s.client_order_id = $3::text)
        and ($4::text is null or s.source = $4::text)
        and ($5::boolean or s.decision_id is null)
        and ($6::timestamptz is null
             or (s.set_aside_at, s.kind, s.number) < ($6::timestamptz, $7::text, $8::bigint))
      order by s.set_aside_at desc, s.kind desc, s.number desc
      limit $9::integer`,
    // What is undefined becomes null.
    values: [reason, accountId, clientOrderId, source, decided, ...placeOf(after), limit],
  });
}

function placeOf(event: SetAsideFilter['after']): readonly (string | undefined)[] {
  return [event?.setAsideAt, event?.id.slice(0, 1), event?.id.slice(1)];
}

/** One of them with everything that is known of it; undefined when there is none under this id. */
export async function findSetAside(
  queryable: Queryable,
  id: string,
): Promise<SetAsideContentBody | undefined> {
  if (!SET_ASIDE_ID.test(id)) return undefined;
  return firstRow<SetAsideContentBody>(queryable, {
    text: `
      select ${COLUMNS}, s.payload as "payload", encode(s.content_hash, 'hex') as "contentHash",
             s.other_payload as "firstContentHash",
             case when s.reason = 'conflict' then coalesce(${FIRST_FILL}, ${FIRST_TIMELINE_ENTRY}) end as "firstContent",
             case when s.topic is not null then jsonb_build_object(
               'topic', s.topic, 'partition', s.topic_partition, 'offset', s.topic_offset::text) end as "message"
      from ${SET_ASIDE}
      where s.kind = $1::text and s.number = $2::bigint`,
    values: [id[0], id.slice(1)],
  });
}

/** A fill's row keeps what was first reported, of whatever order. */
const FIRST_FILL = `(
  select jsonb_build_object(
    'accountId', f.account_id, 'clientOrderId', f.client_order_id, 'symbol', f.symbol, 'side', f.side,
    'quantity', f.quantity::text, 'price', f.price::text, 'executedAt', ${utc('f.executed_at')})
  from fills f
  where s.event_type = 'FILL' and f.source = s.source and f.execution_id = s.execution_id)`;

/** Of the other types the order's timeline keeps the content, if it was this order's. */
const FIRST_TIMELINE_ENTRY = `(
  select e.detail
  from order_events e
  where e.account_id = s.account_id and e.client_order_id = s.client_order_id and e.type = s.event_type
    and e.detail ->> 'source' = s.source and e.detail ->> 'executionId' = s.execution_id
  order by e.sequence limit 1)`;
