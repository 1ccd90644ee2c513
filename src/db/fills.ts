import type { Amendment, EffectiveTrade } from '../domain/amendment';
import { decimal, decimalText, type Decimal } from '../domain/decimal';
import type { Execution } from '../domain/execution';
import { fixedPoint } from '../domain/fixed-point';
import type { OrderKey } from '../domain/ids';
import type { Side } from '../domain/order';
import type { PlacedTrade } from '../domain/position-checkpoint';
import { allRows, type PoolClient, type Queryable } from './pool';

/** A fill of one source, as first reported and as it counts. */
export interface FillRow extends OrderKey {
  readonly source: string;
  readonly executionId: string;
  readonly side: Side;
  readonly quantity: Decimal;
  readonly price: Decimal;
  /** Zero when busted. */
  readonly effectiveQuantity: Decimal;
  readonly effectivePrice: Decimal;
  /** Its place in its position's applied order. */
  readonly positionSequence: bigint;
}

/**
 * Books fills behind `lastSequence`, in the given order. Returns the identities of the new ones; a fill that is
 * missing there was booked before its dedup row was purged.
 */
export async function insertFills(
  connection: PoolClient,
  fills: readonly Execution[],
  lastSequence: bigint,
): Promise<Set<string>> {
  const rows = await allRows<{ source: string; executionId: string }>(connection, {
    name: 'insert-fills',
    text: `
      insert into fills
        (source, execution_id, account_id, client_order_id, symbol, side, quantity, price,
         effective_quantity, effective_price, executed_at, position_sequence)
      select f.source, f.execution_id, f.account_id, f.client_order_id, f.symbol, f.side, f.quantity, f.price,
             f.quantity, f.price, f.executed_at, $10::bigint + f.number
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::numeric[],
                  $8::numeric[], $9::timestamptz[]) with ordinality
        as f (source, execution_id, account_id, client_order_id, symbol, side, quantity, price, executed_at, number)
      on conflict on constraint fills_execution_unique do nothing
      returning source as "source", execution_id as "executionId"`,
    values: [
      fills.map((fill) => fill.source),
      fills.map((fill) => fill.executionId),
      fills.map((fill) => fill.accountId),
      fills.map((fill) => fill.clientOrderId),
      fills.map((fill) => fill.symbol),
      fills.map((fill) => fill.side),
      fills.map((fill) => fill.quantity),
      fills.map((fill) => fill.price),
      fills.map((fill) => fill.executedAt),
      lastSequence.toString(),
    ],
  });
  return new Set(rows.map(fillIdentityText));
}

/** The text by which `insertFills` names a fill. */
export function fillIdentityText(fill: { readonly source: string; readonly executionId: string }): string {
  return JSON.stringify([fill.source, fill.executionId]);
}

/** The fills of one source with these execution ids, of whatever order. */
export async function findFills(
  connection: PoolClient,
  source: string,
  executionIds: readonly string[],
): Promise<FillRow[]> {
  const rows = await allRows<FillText>(connection, {
    text: `
      select source as "source", execution_id as "executionId", account_id as "accountId",
             client_order_id as "clientOrderId", side as "side", quantity::text as "quantity", price::text as "price",
             effective_quantity::text as "effectiveQuantity", effective_price::text as "effectivePrice",
             position_sequence::text as "positionSequence"
      from fills where source = $1::text and execution_id = any ($2::text[])`,
    values: [source, executionIds],
  });
  return rows.map((row) => ({
    ...row,
    quantity: decimal(row.quantity),
    price: decimal(row.price),
    effectiveQuantity: decimal(row.effectiveQuantity),
    effectivePrice: decimal(row.effectivePrice),
    positionSequence: BigInt(row.positionSequence),
  }));
}

interface FillText extends OrderKey {
  readonly source: string;
  readonly executionId: string;
  readonly side: Side;
  readonly quantity: string;
  readonly price: string;
  readonly effectiveQuantity: string;
  readonly effectivePrice: string;
  readonly positionSequence: string;
}

/** Sets what a fill counts for. */
export async function setEffective(
  connection: PoolClient,
  fill: FillRow,
  trade: EffectiveTrade,
): Promise<void> {
  await connection.query({
    text: `
      update fills set effective_quantity = $3::numeric, effective_price = $4::numeric, amended_by = $5::text
      where source = $1::text and execution_id = $2::text`,
    values: [
      fill.source,
      fill.executionId,
      decimalText(trade.quantity),
      decimalText(trade.price),
      trade.amendedBy,
    ],
  });
}

/** The trades that count towards a position between two places, in applied order. Busted fills are left out. */
export async function positionTrades(
  queryable: Queryable,
  key: { readonly accountId: string; readonly symbol: string },
  places: { readonly after: bigint; readonly end: bigint; readonly limit: number },
): Promise<PlacedTrade[]> {
  const rows = await allRows<{ quantity: string; price: string; sequence: string }>(queryable, {
    name: 'position-trades',
    text: `
      select trim_scale(case side when 'sell' then -effective_quantity else effective_quantity end)::text as "quantity",
             trim_scale(effective_price)::text as "price", position_sequence::text as "sequence"
      from fills
      where account_id = $1::text and symbol = $2::text and position_sequence > $3::bigint
        and position_sequence <= $4::bigint and effective_quantity > 0
      order by position_sequence limit $5::integer`,
    values: [key.accountId, key.symbol, places.after.toString(), places.end.toString(), places.limit],
  });
  return rows.map(({ quantity, price, sequence }) => ({
    quantity: fixedPoint(quantity),
    price: fixedPoint(price),
    sequence: BigInt(sequence),
  }));
}

/** An amendment with the fill at the end of its references. */
export interface AmendmentRow extends Amendment {
  readonly source: string;
  readonly rootExecutionId: string;
}

/**
 * Keeps a bust or a correction. Its root is the root of what it refers to; amendments that had arrived before it and
 * refer to it move to that root with it.
 * @returns the root, or undefined when it was kept before its dedup row was purged: nothing has changed then.
 */
export async function insertAmendment(
  connection: PoolClient,
  execution: Execution,
): Promise<string | undefined> {
  const rows = await allRows<{ root: string }>(connection, {
    text: `
      with root as (
        select coalesce(
          (select a.root_execution_id from fill_amendments a
           where a.source = $1::text and a.execution_id = $4::text limit 1),
          $4::text) as id
      ), kept as (
        insert into fill_amendments
          (source, execution_id, event_type, ref_execution_id, root_execution_id, account_id, client_order_id,
           quantity, price, executed_at)
        select $1::text, $2::text, $3::text, $4::text, root.id, $5::text, $6::text, $7::numeric, $8::numeric,
               $9::timestamptz
        from root
        on conflict on constraint fill_amendments_pkey do nothing
        returning root_execution_id
      ), moved as (
        update fill_amendments set root_execution_id = kept.root_execution_id from kept
        where source = $1::text and fill_amendments.root_execution_id = $2::text
      )
      select root_execution_id as "root" from kept`,
    values: [
      execution.source,
      execution.executionId,
      execution.type,
      execution.refExecutionId,
      execution.accountId,
      execution.clientOrderId,
      execution.quantity ?? null,
      execution.price ?? null,
      execution.executedAt,
    ],
  });
  return rows[0]?.root;
}

/** All amendments of these fills that belong to the same order. */
export async function findAmendments(
  connection: PoolClient,
  order: OrderKey,
  source: string,
  rootExecutionIds: readonly string[],
): Promise<AmendmentRow[]> {
  const rows = await allRows<AmendmentText>(connection, {
    name: 'find-amendments',
    text: `
      select source as "source", root_execution_id as "rootExecutionId", execution_id as "executionId",
             ref_execution_id as "refExecutionId", event_type as "type", quantity::text as "quantity",
             price::text as "price",
             to_char(executed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "executedAt"
      from fill_amendments
      where source = $1::text and root_execution_id = any ($2::text[])
        and account_id = $3::text and client_order_id = $4::text`,
    values: [source, rootExecutionIds, order.accountId, order.clientOrderId],
  });
  return rows.map(({ quantity, price, ...row }) => ({
    ...row,
    ...(quantity === null || price === null ? {} : { quantity: decimal(quantity), price: decimal(price) }),
  }));
}

interface AmendmentText {
  readonly source: string;
  readonly rootExecutionId: string;
  readonly executionId: string;
  readonly refExecutionId: string;
  readonly type: 'BUST' | 'CORRECT';
  readonly quantity: string | null;
  readonly price: string | null;
  readonly executedAt: string;
}
