import { assert } from '../domain/assert';
import type { Execution } from '../domain/execution';
import { fixedPoint, fixedPointText, PRODUCT_PLACES } from '../domain/fixed-point';
import type { Position } from '../domain/position';
import { firstRow, type PoolClient } from './pool';

export interface PositionKey {
  readonly accountId: string;
  readonly symbol: string;
}

export interface LockedPosition extends Position {
  readonly lastSequence: bigint;
}

/** The figures of a position as PostgreSQL writes them. */
export interface FiguresText {
  readonly quantity: string;
  readonly averagePrice: string | null;
  readonly realisedProfit: string;
}

interface PositionRow extends FiguresText {
  readonly lastSequence: string;
}

/** The position's row, created empty when it is missing, locked until the transaction ends. After the order's lock. */
export async function lockPosition(connection: PoolClient, key: PositionKey): Promise<LockedPosition> {
  const raw = (await selectLocked(connection, key)) ?? (await createLocked(connection, key));
  return { ...positionOf(raw), lastSequence: BigInt(raw.lastSequence) };
}

export function positionOf(raw: FiguresText): Position {
  return {
    quantity: fixedPoint(raw.quantity),
    averagePrice: raw.averagePrice === null ? null : fixedPoint(raw.averagePrice),
    realisedProfit: fixedPoint(raw.realisedProfit, PRODUCT_PLACES),
  };
}

/** The row's figures of a position: quantity, average price and realised profit as text. */
export function positionText({
  quantity,
  averagePrice,
  realisedProfit,
}: Position): [string, string | null, string] {
  return [
    fixedPointText(quantity),
    averagePrice === null ? null : fixedPointText(averagePrice),
    fixedPointText(realisedProfit, PRODUCT_PLACES),
  ];
}

async function selectLocked(connection: PoolClient, key: PositionKey): Promise<PositionRow | undefined> {
  return firstRow<PositionRow>(connection, {
    name: 'lock-position',
    text: `
      select quantity::text as "quantity", average_price::text as "averagePrice",
             realised_profit::text as "realisedProfit", last_sequence::text as "lastSequence"
      from positions where account_id = $1::text and symbol = $2::text
      for update`,
    values: [key.accountId, key.symbol],
  });
}

async function createLocked(connection: PoolClient, key: PositionKey): Promise<PositionRow> {
  await connection.query({
    name: 'create-position',
    text: `
      insert into positions (account_id, symbol, quantity) values ($1::text, $2::text, 0)
      on conflict on constraint positions_pkey do nothing`,
    values: [key.accountId, key.symbol],
  });
  const raw = await selectLocked(connection, key);
  assert(raw !== undefined, 'a position that was just created is there');
  return raw;
}

/** What one execution made of a position. */
export interface PositionChange {
  readonly execution: Execution;
  readonly after: Position;
}

/** Writes where a position stands, and what changed it on the way. The row must be locked by this transaction. */
export async function updatePosition(
  connection: PoolClient,
  key: PositionKey,
  position: LockedPosition,
  changes: readonly PositionChange[],
): Promise<void> {
  await connection.query({
    name: 'update-position',
    text: `
      with updated as (
        update positions
        set quantity = $3::numeric, average_price = $4::numeric, realised_profit = $5::numeric,
            last_sequence = $6::bigint, change_count = change_count + cardinality($7::text[]),
            updated_at = clock_timestamp()
        where account_id = $1::text and symbol = $2::text
        returning account_id, symbol, change_count - cardinality($7::text[]) as before
      )
      insert into position_changes
        (account_id, symbol, sequence, source, event_type, execution_id, client_order_id, quantity, average_price,
         realised_profit)
      select updated.account_id, updated.symbol, updated.before + c.number, c.source, c.event_type, c.execution_id,
             c.client_order_id, c.quantity, c.average_price, c.realised_profit
      from updated, unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::numeric[], $12::numeric[],
                           $13::numeric[]) with ordinality
        as c (source, event_type, execution_id, client_order_id, quantity, average_price, realised_profit, number)`,
    values: [
      key.accountId,
      key.symbol,
      ...positionText(position),
      position.lastSequence.toString(),
      changes.map(({ execution }) => execution.source),
      changes.map(({ execution }) => execution.type),
      changes.map(({ execution }) => execution.executionId),
      changes.map(({ execution }) => execution.clientOrderId),
      changes.map(({ after }) => positionText(after)[0]),
      changes.map(({ after }) => positionText(after)[1]),
      changes.map(({ after }) => positionText(after)[2]),
    ],
  });
}
