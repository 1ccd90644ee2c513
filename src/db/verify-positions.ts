import { decimalText } from '../domain/decimal';
import type { Position } from '../domain/position';
import type { PositionAt } from '../domain/position-checkpoint';
import { allRows, firstRow, type Pool, type Queryable } from './pool';
import { EMPTY_START, foldFills, listCheckpoints } from './position-checkpoints';
import { positionOf, type PositionKey, type RawPosition } from './position-updates';
import { inTransaction } from './transaction';

/** How many positions are looked up at a time. */
const KEY_PAGE = 500;

/** A stored figure that is not what the fills give. */
export interface PositionDifference extends PositionKey {
  /** What is stored: the position, one of its checkpoints, or its latest change. */
  readonly where: string;
  readonly stored: string;
  readonly folded: string;
}

/**
 * Folds every position again from all its fills, without any checkpoint, and hands over what differs from what is
 * stored. Each position is read in one snapshot, so bookings may go on meanwhile.
 * @param accountId only this account's positions.
 * @returns how many positions were folded.
 */
export async function verifyPositions(
  pool: Pool,
  accountId: string | undefined,
  onDifference: (difference: PositionDifference) => void,
): Promise<number> {
  const verifyAll = async (keys: readonly PositionKey[]): Promise<void> => {
    for (const key of keys)
      for (const difference of await verifyPosition(pool, key)) onDifference(difference);
  };
  const lost = await listLostKeys(pool, accountId);
  await verifyAll(lost);
  let count = lost.length;
  let after: PositionKey | undefined = { accountId: '', symbol: '' };
  while (after !== undefined) {
    const keys = await listKeys(pool, accountId, after);
    await verifyAll(keys);
    count += keys.length;
    after = keys.length < KEY_PAGE ? undefined : keys.at(-1);
  }
  return count;
}

/** Where there are fills but no position: never, unless somebody deleted it. Reads all fills once. */
async function listLostKeys(queryable: Queryable, accountId: string | undefined): Promise<PositionKey[]> {
  return allRows<{ accountId: string; symbol: string }>(queryable, {
    text: `
      select distinct f.account_id as "accountId", f.symbol as "symbol"
      from fills f
      where ($1::text is null or f.account_id = $1::text)
        and not exists (select from positions p where p.account_id = f.account_id and p.symbol = f.symbol)
      order by 1, 2`,
    values: [accountId ?? null],
  });
}

async function listKeys(
  queryable: Queryable,
  accountId: string | undefined,
  after: PositionKey,
): Promise<PositionKey[]> {
  return allRows<{ accountId: string; symbol: string }>(queryable, {
    text: `
      select account_id as "accountId", symbol as "symbol" from positions
      where ($1::text is null or account_id = $1::text) and (account_id, symbol) > ($2::text, $3::text)
      order by account_id, symbol limit $4::integer`,
    values: [accountId ?? null, after.accountId, after.symbol, KEY_PAGE],
  });
}

async function verifyPosition(pool: Pool, key: PositionKey): Promise<PositionDifference[]> {
  return inTransaction(pool, async (connection) => {
    await connection.query('set transaction isolation level repeatable read, read only');
    const stored = await readStored(connection, key);
    const checkpoints = new Map<bigint, Position>();
    const whole = { start: EMPTY_START, end: stored.lastPlace };
    const { position } = await foldFills(connection, key, whole, (passed) => {
      for (const checkpoint of passed) checkpoints.set(checkpoint.sequence, checkpoint.position);
      return Promise.resolve();
    });
    return differencesOf(stored, position, checkpoints).map((difference) => ({ ...key, ...difference }));
  });
}

function differencesOf(
  stored: StoredPosition,
  folded: Position,
  checkpoints: ReadonlyMap<bigint, Position>,
): Difference[] {
  const compare = (where: string, found: Position | undefined, right: Position | undefined): Difference[] =>
    textOf(found) === textOf(right) ? [] : [{ where, stored: textOf(found), folded: textOf(right) }];
  const { position, latestChange } = stored;
  return [
    ...compare('position', position, folded),
    // A position whose fills are older than the table of changes has none.
    ...(latestChange === undefined ? [] : compare('latest change', latestChange, folded)),
    ...stored.checkpoints.flatMap((checkpoint) =>
      compare(
        `checkpoint ${checkpoint.sequence.toString()}`,
        checkpoint.position,
        checkpoints.get(checkpoint.sequence),
      ),
    ),
  ];
}

type Difference = Omit<PositionDifference, keyof PositionKey>;

interface StoredPosition {
  readonly position: Position | undefined;
  readonly latestChange: Position | undefined;
  readonly checkpoints: readonly PositionAt[];
  /** Of the last fill, wherever the position's row believes it to be. */
  readonly lastPlace: bigint;
}

async function readStored(connection: Queryable, key: PositionKey): Promise<StoredPosition> {
  const values = [key.accountId, key.symbol];
  const row = await firstRow<RawPosition>(connection, {
    text: `
      select quantity::text as "quantity", average_price::text as "averagePrice",
             realised_profit::text as "realisedProfit", last_sequence::text as "lastSequence"
      from positions where account_id = $1::text and symbol = $2::text`,
    values,
  });
  const change = await firstRow<RawPosition>(connection, {
    text: `
      select quantity::text as "quantity", average_price::text as "averagePrice",
             realised_profit::text as "realisedProfit", '0' as "lastSequence"
      from position_changes where account_id = $1::text and symbol = $2::text order by sequence desc limit 1`,
    values,
  });
  const last = await firstRow<{ place: string }>(connection, {
    text: `
      select coalesce(max(position_sequence), 0)::text as "place"
      from fills where account_id = $1::text and symbol = $2::text`,
    values,
  });
  const lastFill = BigInt(last?.place ?? 0);
  const lastSequence = BigInt(row?.lastSequence ?? 0);
  return {
    position: row === undefined ? undefined : positionOf(row),
    latestChange: change === undefined ? undefined : positionOf(change),
    checkpoints: await listCheckpoints(connection, key),
    lastPlace: lastFill > lastSequence ? lastFill : lastSequence,
  };
}

function textOf(position: Position | undefined): string {
  if (position === undefined) return 'none';
  const { quantity, averagePrice, realisedProfit } = position;
  const average = averagePrice === null ? 'none' : decimalText(averagePrice);
  return `quantity ${decimalText(quantity)}, average ${average}, realised ${decimalText(realisedProfit)}`;
}
