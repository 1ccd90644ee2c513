import { openedAnswer, refusedAnswer, type Answer } from '../contracts/order-answer';
import type { OpenOrderCommand, OpenOrderResult, StoredAnswer } from '../contracts/order-messages';
import type { RefusalCode } from '../contracts/error-codes';
import type { GateVerdict } from '../contracts/quote-gate';
import { assert } from '../domain/assert';
import { orderWorkflowId, type OrderKey } from '../domain/ids';
import type { OrderStatus } from '../domain/order-status';
import { firstRow, type Pool, type PoolClient, type Queryable } from './pool';
import { inTransaction, type TransactionHooks } from './transaction';

/** Why an order is not opened. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly detail: string;
  /** Facts for the client, e.g. the gate's evidence. */
  readonly facts?: Record<string, unknown>;
}

export interface OpenOrderDecision {
  /** Undefined opens the order, unless its time is over. */
  readonly refusal?: Refusal;
  readonly evidence?: GateVerdict;
}

export interface OpenOrderOutcome {
  /** Absent when the key's row is already purged: the order itself is then the answer. */
  readonly answer?: StoredAnswer;
  readonly result: Omit<OpenOrderResult, 'sent'>;
  /** True when this call stored the answer; false when it was there already. */
  readonly stored: boolean;
}

/**
 * ONE transaction: the key with its answer, the order, the first line of its timeline. If the key is there already,
 * nothing is written and the stored answer is returned. After `acceptBy`, by the database's clock, the order is
 * refused as EXPIRED whatever was decided.
 */
export async function openOrder(
  pool: Pool,
  command: OpenOrderCommand,
  decision: OpenOrderDecision,
  hooks: TransactionHooks = {},
): Promise<OpenOrderOutcome> {
  return inTransaction(
    pool,
    async (connection) => {
      const { now, late } = await lockKey(connection, command);
      const refusal = late ? expired(command) : decision.refusal;
      const answer =
        refusal === undefined ? openedAnswer(command.request, now) : refusedAnswer(command.request, refusal);
      const order = { answer, now, refusal, evidence: decision.evidence };
      const { inserted, parked } = await insertOrder(connection, command, order);
      if (!inserted) return storedOutcome(connection, command);
      const status: OrderStatus = refusal === undefined ? 'PENDING_NEW' : 'REFUSED';
      return {
        answer: { requestHash: command.requestHash, requestId: command.requestId, ...answer },
        result: {
          outcome: refusal === undefined ? 'opened' : 'refused',
          status,
          ...(refusal === undefined ? {} : { code: refusal.code }),
          parkedExecutions: parked,
        },
        stored: true,
      };
    },
    hooks,
  );
}

/**
 * The refusal of an order that no run will open any more. Somebody else's answer, if one was stored first; undefined
 * when the order is known but its answer is already purged.
 */
export async function recordRefusal(
  pool: Pool,
  command: OpenOrderCommand,
  refusal: Refusal,
): Promise<StoredAnswer | undefined> {
  const outcome = await openOrder(pool, command, { refusal });
  return outcome.answer;
}

/** What is known of an order before it is opened. */
export interface KnownOrder {
  /** `acceptBy` has passed, by the database's clock. */
  readonly late: boolean;
  /** As `openOrder` would return it; undefined for a new key. */
  readonly outcome?: OpenOrderOutcome;
}

/** One indexed read: was this key answered, and is there time left to open it? */
export async function findKnownOrder(queryable: Queryable, command: OpenOrderCommand): Promise<KnownOrder> {
  const row = await firstRow<KnownRow>(queryable, {
    name: 'find-known-order',
    text: `
      select clock_timestamp() > $3::timestamptz as "late",
             o.status as "status", o.refusal_code as "refusalCode",
             encode(o.request_hash, 'hex') as "orderHash", encode(k.request_hash, 'hex') as "requestHash",
             k.request_id as "requestId", k.status_code as "statusCode", k.answer::text as "body",
             exists (select from parked_executions p
                     where p.account_id = o.account_id and p.client_order_id = o.client_order_id) as "parked"
      from (select $1::text as account_id, $2::text as client_order_id) wanted
      left join orders o using (account_id, client_order_id)
      left join idempotency_keys k using (account_id, client_order_id)`,
    values: [command.request.accountId, command.request.clientOrderId, command.acceptBy],
  });
  assert(row !== undefined, 'a select of one row gives one row');
  const { late } = row;
  if (row.status === null) return { late };
  const answer = storedAnswer(row);
  const result = storedResult(row, command);
  return { late, outcome: { result, stored: false, ...(answer === undefined ? {} : { answer }) } };
}

type KnownRow = { readonly late: boolean } & (StoredRow | { readonly status: null });

interface StoredRow {
  readonly status: OrderStatus;
  readonly refusalCode: RefusalCode | null;
  readonly orderHash: string;
  /** Null, with the three after it, when the key row is already purged. */
  readonly requestHash: string | null;
  readonly requestId: string | null;
  readonly statusCode: number | null;
  readonly body: string | null;
  readonly parked: boolean;
}

function storedAnswer(row: StoredRow): StoredAnswer | undefined {
  const { requestHash, requestId, statusCode, body } = row;
  if (requestHash === null || requestId === null || statusCode === null || body === null) return undefined;
  return { requestHash, requestId, statusCode, body };
}

function storedResult(row: StoredRow, command: OpenOrderCommand): OpenOrderOutcome['result'] {
  const outcome =
    row.orderHash !== command.requestHash ? 'superseded' : row.status === 'REFUSED' ? 'refused' : 'opened';
  return {
    outcome,
    status: row.status,
    ...(row.refusalCode === null ? {} : { code: row.refusalCode }),
    parkedExecutions: row.parked,
  };
}

async function storedOutcome(connection: PoolClient, command: OpenOrderCommand): Promise<OpenOrderOutcome> {
  const { outcome } = await findKnownOrder(connection, command);
  assert(outcome !== undefined, 'a key that refuses an insert has an order');
  return outcome;
}

/**
 * The database's time, and a lock on this one key until the transaction ends: an execution of this order is parked
 * under the same lock, so it is either seen here or sees the order.
 */
async function lockKey(
  connection: PoolClient,
  command: OpenOrderCommand,
): Promise<{ now: string; late: boolean }> {
  const row = await firstRow<{ now: string; late: boolean }>(connection, {
    name: 'open-order-lock-and-time',
    text: `
      with locked as materialized (select pg_advisory_xact_lock(hashtextextended($1::text, 0))),
           t as materialized (select clock_timestamp() as now from locked)
      select to_char(t.now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "now",
             t.now > $2::timestamptz as "late"
      from t`,
    values: [orderWorkflowId(command.request), command.acceptBy],
  });
  assert(row !== undefined, 'a select of one row gives one row');
  return row;
}

/** Serialises what concerns one order key, whether or not its row exists yet. Released with the transaction. */
export async function lockOrderKey(connection: PoolClient, key: OrderKey): Promise<void> {
  await connection.query({
    name: 'lock-order-key',
    text: 'select pg_advisory_xact_lock(hashtextextended($1::text, 0))',
    values: [orderWorkflowId(key)],
  });
}

function expired(command: OpenOrderCommand): Refusal {
  return {
    code: 'EXPIRED',
    detail: `the order was not opened by ${command.acceptBy} and will not be opened later; send it under a new clientOrderId`,
    facts: { acceptBy: command.acceptBy },
  };
}

interface NewOrder {
  readonly answer: Answer;
  readonly now: string;
  readonly refusal: Refusal | undefined;
  readonly evidence: GateVerdict | undefined;
}

/**
 * The key and, only if it is new, the order with its first event. An order whose key row is already purged counts as
 * known: under the lock nobody can slip in between the look and the insert, and the unique constraint of `orders`
 * stands behind both.
 */
async function insertOrder(
  connection: PoolClient,
  command: OpenOrderCommand,
  order: NewOrder,
): Promise<{ inserted: boolean; parked: boolean }> {
  const { request } = command;
  const row = await firstRow<{ inserted: boolean; parked: boolean }>(connection, {
    name: 'insert-order',
    text: `
      with key as (
        insert into idempotency_keys
          (account_id, client_order_id, request_hash, request_id, status_code, answer, created_at)
        select $1::text, $2::text, decode($3::text, 'hex'), $4::text, $5::integer, $6::json, $7::timestamptz
        where not exists (select from orders where account_id = $1::text and client_order_id = $2::text)
        on conflict on constraint idempotency_keys_pkey do nothing
        returning account_id, client_order_id, request_hash
      ), opened as (
        insert into orders
          (account_id, client_order_id, request_hash, symbol, side, order_type, quantity, limit_price, time_in_force,
           expire_at, status, refusal_code, quote_evidence, last_event_sequence, accepted_at, updated_at)
        select key.account_id, key.client_order_id, key.request_hash, $8::text, $9::text, $10::text, $11::numeric,
               $12::numeric, $13::text, $14::timestamptz, $15::text, $16::text, $17::jsonb, 1, $7::timestamptz, $7::timestamptz
        from key
        returning account_id, client_order_id
      ), event as (
        insert into order_events (account_id, client_order_id, sequence, type, detail, recorded_at)
        select opened.account_id, opened.client_order_id, 1, $18::text, $19::jsonb, $7::timestamptz
        from opened
        returning sequence
      )
      select exists (select from event) as "inserted",
             exists (select from parked_executions
                     where account_id = $1::text and client_order_id = $2::text) as "parked"`,
    values: [
      request.accountId,
      request.clientOrderId,
      command.requestHash,
      command.requestId,
      order.answer.statusCode,
      order.answer.body,
      order.now,
      request.symbol,
      request.side,
      request.type,
      request.quantity,
      request.limitPrice ?? null,
      request.timeInForce,
      request.expireAt ?? null,
      order.refusal === undefined ? 'PENDING_NEW' : 'REFUSED',
      order.refusal?.code ?? null,
      order.evidence === undefined ? null : JSON.stringify(order.evidence),
      order.refusal === undefined ? 'OPENED' : 'REFUSED',
      JSON.stringify(
        order.refusal === undefined ? {} : { code: order.refusal.code, detail: order.refusal.detail },
      ),
    ],
  });
  assert(row !== undefined, 'a select of one row gives one row');
  return row;
}
