import { assert } from '../domain/assert';
import { decimal, decimalText } from '../domain/decimal';
import type { Position } from '../domain/position';
import { firstRow, type PoolClient } from './pool';

export interface PositionKey {
  readonly accountId: string;
  readonly symbol: string;
}

export interface LockedPosition extends Position {
  readonly lastSequence: bigint;
}

interface RawPosition {
  readonly quantity: string;
  readonly averagePrice: string | null;
  readonly realisedProfit: string;
  readonly lastSequence: string;
}

/** The position's row, created empty when it is missing, locked until the transaction ends. After the order's lock. */
export async function lockPosition(connection: PoolClient, key: PositionKey): Promise<LockedPosition> {
  const raw = (await selectLocked(connection, key)) ?? (await createLocked(connection, key));
  return {
    quantity: decimal(raw.quantity),
    averagePrice: raw.averagePrice === null ? null : decimal(raw.averagePrice),
    realisedProfit: decimal(raw.realisedProfit),
    lastSequence: BigInt(raw.lastSequence),
  };
}

async function selectLocked(connection: PoolClient, key: PositionKey): Promise<RawPosition | undefined> {
  return firstRow<RawPosition>(connection, {
    name: 'lock-position',
    text: `
      select quantity::text as "quantity", average_price::text as "averagePrice",
             realised_profit::text as "realisedProfit", last_sequence::text as "lastSequence"
      from positions where account_id = $1::text and symbol = $2::text
      for update`,
    values: [key.accountId, key.symbol],
  });
}

async function createLocked(connection: PoolClient, key: PositionKey): Promise<RawPosition> {
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

/** The row must be locked by this transaction. */
export async function updatePosition(
  connection: PoolClient,
  key: PositionKey,
  position: LockedPosition,
): Promise<void> {
  await connection.query({
    name: 'update-position',
    text: `
      update positions
      set quantity = $3::numeric, average_price = $4::numeric, realised_profit = $5::numeric,
          last_sequence = $6::bigint, updated_at = clock_timestamp()
      where account_id = $1::text and symbol = $2::text`,
    values: [
      key.accountId,
      key.symbol,
      decimalText(position.quantity),
      position.averagePrice === null ? null : decimalText(position.averagePrice),
      decimalText(position.realisedProfit),
      position.lastSequence.toString(),
    ],
  });
}
