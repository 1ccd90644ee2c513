import type { RefusalCode } from '../contracts/error-codes';
import type { StoredAnswer } from '../contracts/order-messages';
import { averagePrice, decimal, decimalText, ZERO } from '../domain/decimal';
import type { OrderKey } from '../domain/ids';
import type { OrderType, Side, TimeInForce } from '../domain/order';
import type { OrderStatus } from '../domain/order-status';
import { canonicalTimestamp } from '../domain/timestamp';
import { allRows, firstRow, type Queryable } from './pool';

/** An order as it stands. Decimals are canonical text, times RFC 3339 UTC. */
export interface OrderRow extends OrderKey {
  /** For paging only. */
  readonly id: string;
  /** SHA-256, hexadecimal. */
  readonly requestHash: string;
  readonly symbol: string;
  readonly side: Side;
  readonly type: OrderType;
  readonly quantity: string;
  readonly limitPrice: string | null;
  readonly timeInForce: TimeInForce;
  readonly expireAt: string | null;
  readonly status: OrderStatus;
  readonly refusalCode: RefusalCode | null;
  readonly cumulativeQuantity: string;
  /** Derived from the exact cost of the fills: 18 places, ties to even. Null when nothing is filled. */
  readonly averagePrice: string | null;
  readonly overfilled: boolean;
  readonly attention: string | null;
  readonly cancelRequestedAt: string | null;
  /** How often the venue has refused to cancel it. */
  readonly cancelRejections: number;
  readonly venueOrderId: string | null;
  readonly acceptedAt: string;
  readonly updatedAt: string;
}

export interface OrderEventRow {
  readonly sequence: number;
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly recordedAt: string;
}

/** What is known of a key before anything is done for it. */
export interface Submission {
  /** RFC 3339, milliseconds: the clock that deadlines are measured on. */
  readonly databaseTime: string;
  readonly answer?: StoredAnswer;
  /** Present whenever the order's row exists, also when its key row is already purged. */
  readonly order?: OrderRow;
}

/** RFC 3339 in UTC with microseconds, trailing zeros kept: what JSON consumers expect of a database time. */
const rfc3339 = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

const ORDER_COLUMNS = `
  o.id::text as "id", o.account_id as "accountId", o.client_order_id as "clientOrderId",
  encode(o.request_hash, 'hex') as "requestHash", o.symbol as "symbol", o.side as "side", o.order_type as "type",
  trim_scale(o.quantity)::text as "quantity", trim_scale(o.limit_price)::text as "limitPrice",
  o.time_in_force as "timeInForce", ${rfc3339('o.expire_at')} as "expireAt", o.status as "status",
  o.refusal_code as "refusalCode", trim_scale(o.cumulative_quantity)::text as "cumulativeQuantity",
  trim_scale(o.cumulative_cost)::text as "cumulativeCost", o.overfilled as "overfilled", o.attention as "attention",
  ${rfc3339('o.cancel_requested_at')} as "cancelRequestedAt",
  o.cancel_rejections as "cancelRejections", o.venue_order_id as "venueOrderId",
  ${rfc3339('o.accepted_at')} as "acceptedAt", ${rfc3339('o.updated_at')} as "updatedAt"`;

interface RawOrder extends Omit<OrderRow, 'averagePrice'> {
  readonly cumulativeCost: string;
}

function orderRow(raw: RawOrder): OrderRow {
  const { cumulativeCost, ...row } = raw;
  const expireAt = row.expireAt === null ? null : (canonicalTimestamp(row.expireAt) ?? row.expireAt);
  const filled = decimal(row.cumulativeQuantity);
  const average = filled.eq(ZERO) ? null : decimalText(averagePrice(decimal(cumulativeCost), filled));
  return { ...row, expireAt, averagePrice: average };
}

/** One indexed read: the stored answer of a key, falling back to its order. */
export async function findSubmission(queryable: Queryable, key: OrderKey): Promise<Submission> {
  const row = await firstRow<RawSubmission>(queryable, {
    name: 'find-submission',
    text: `
      select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "databaseTime",
             encode(k.request_hash, 'hex') as "requestHash", k.request_id as "requestId",
             k.status_code as "statusCode", k.answer::text as "body"
      from (select $1::text as account_id, $2::text as client_order_id) wanted
      left join idempotency_keys k using (account_id, client_order_id)`,
    values: [key.accountId, key.clientOrderId],
  });
  if (row === undefined) throw new Error('a query without a from-less row gave none');
  const { databaseTime } = row;
  if (row.requestHash !== null) {
    const { requestHash, requestId, statusCode, body } = row;
    return { databaseTime, answer: { requestHash, requestId, statusCode, body } };
  }
  const order = await findOrder(queryable, key);
  return { databaseTime, ...(order === undefined ? {} : { order }) };
}

type RawSubmission = { readonly databaseTime: string } & ({ readonly requestHash: null } | StoredAnswer);

export async function findOrder(queryable: Queryable, key: OrderKey): Promise<OrderRow | undefined> {
  const raw = await firstRow<RawOrder>(queryable, {
    name: 'find-order',
    text: `select ${ORDER_COLUMNS} from orders o where o.account_id = $1::text and o.client_order_id = $2::text`,
    values: [key.accountId, key.clientOrderId],
  });
  return raw === undefined ? undefined : orderRow(raw);
}

export interface OrderPage {
  readonly accountId: string;
  readonly status?: OrderStatus;
  /** Orders older than this one. */
  readonly beforeId?: string;
  readonly limit: number;
}

/** Newest first. */
export async function listOrders(queryable: Queryable, page: OrderPage): Promise<OrderRow[]> {
  const rows = await allRows<RawOrder>(queryable, {
    text: `
      select ${ORDER_COLUMNS} from orders o
      where o.account_id = $1::text
        and ($2::text is null or o.status = $2::text)
        and ($3::bigint is null or o.id < $3::bigint)
      order by o.id desc limit $4::integer`,
    values: [page.accountId, page.status ?? null, page.beforeId ?? null, page.limit],
  });
  return rows.map(orderRow);
}

/** Oldest first. */
export async function listOrderEvents(
  queryable: Queryable,
  key: OrderKey,
  page: { readonly afterSequence: number; readonly limit: number },
): Promise<OrderEventRow[]> {
  return allRows<OrderEventRow>(queryable, {
    text: `
      select e.sequence as "sequence", e.type as "type", e.detail as "detail",
             ${rfc3339('e.recorded_at')} as "recordedAt"
      from order_events e
      where e.account_id = $1::text and e.client_order_id = $2::text and e.sequence > $3::integer
      order by e.sequence limit $4::integer`,
    values: [key.accountId, key.clientOrderId, page.afterSequence, page.limit],
  });
}
