import { assert } from '../domain/assert';
import { isTerminal, ORDER_STATUSES } from '../domain/order-status';
import { firstRow, type Queryable } from './pool';
import type { EndOldRows } from './purge-table';

const TERMINAL_STATUSES = ORDER_STATUSES.filter(isTerminal);

/**
 * One batch of keys, oldest first. A key goes when its order has ended and nothing has happened to the order for the
 * length of the window, by the database's clock; the key of a live order stays, however old it is. `limit` is how many
 * keys are looked at: those of live orders are passed over once a run.
 */
export const purgeIdempotencyKeys: EndOldRows = async (session, { windowMs, limit, cursor }) => {
  const [createdAt, accountId, clientOrderId] = readCursor(cursor);
  const batch = await session.transaction((connection) =>
    deleteBatch(connection, [windowMs, limit, createdAt, accountId, clientOrderId, TERMINAL_STATUSES]),
  );
  assert(batch !== undefined, 'an aggregate gives one row');
  const { rows, seen, last, until } = batch;
  return {
    rows,
    more: seen === limit,
    through: last?.[0],
    until,
    cursor: last === null ? cursor : JSON.stringify(last),
  };
};

type KeyPlace = readonly [createdAt: string, accountId: string, clientOrderId: string];

function readCursor(cursor: string | undefined): KeyPlace {
  return cursor === undefined ? ['-infinity', '', ''] : (JSON.parse(cursor) as KeyPlace);
}

interface KeyBatch {
  readonly rows: number;
  readonly seen: number;
  readonly last: KeyPlace | null;
  readonly until: string;
}

/**
 * The order's row is read, not locked: an order that has ended never lives again. It is looked up key by key, so that
 * no plan reads all orders, of which there are many more.
 */
function deleteBatch(connection: Queryable, values: readonly unknown[]): Promise<KeyBatch | undefined> {
  return firstRow<{ rows: number; seen: number; last: KeyPlace | null; until: string }>(connection, {
    text: `
      with looked_at as materialized (
        select k.ctid as place, k.created_at, k.account_id, k.client_order_id
        from idempotency_keys k
        where k.created_at >= $3::timestamptz
          and (k.created_at, k.account_id, k.client_order_id) > ($3::timestamptz, $4::text, $5::text)
          and k.created_at < now() - $1::bigint * interval '1 millisecond'
        order by k.created_at, k.account_id, k.client_order_id limit $2::integer
      ), gone as (
        delete from idempotency_keys
        where ctid = any (array(
          select l.place from looked_at l
          where (select o.status = any ($6::text[]) and o.updated_at < now() - $1::bigint * interval '1 millisecond'
                 from orders o where o.account_id = l.account_id and o.client_order_id = l.client_order_id)))
        returning 1
      )
      select (select count(*) from gone)::integer as "rows", count(*)::integer as "seen",
             (select json_build_array(
                to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), account_id, client_order_id)
              from looked_at order by created_at desc, account_id desc, client_order_id desc limit 1) as "last",
             to_char((now() - $1::bigint * interval '1 millisecond') at time zone 'UTC',
                     'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "until"
      from looked_at`,
    values,
  });
}
