import { assert } from '../domain/assert';
import { EMPTY_POSITION, foldTrades } from '../domain/position';
import { CHECKPOINT_INTERVAL, foldWithCheckpoints, type PositionAt } from '../domain/position-checkpoint';
import { findFillBlocks, saveFillBlocks, type FillBlock } from './fill-blocks';
import { positionTrades } from './fills';
import { firstRow, type Queryable } from './pool';
import { positionOf, positionText, type FiguresText, type PositionKey } from './position-updates';

/** How many fills are held in memory at a time, in blocks or one by one. */
const REFOLD_BLOCKS = 40;
const REFOLD_PAGE = REFOLD_BLOCKS * Number(CHECKPOINT_INTERVAL);

/** Before every fill. */
export const EMPTY_START: PositionAt = { position: EMPTY_POSITION, sequence: 0n };

/**
 * Folds a position's fills again after fills from the place `from` on were amended, up to the place `end`: from the
 * last checkpoint before them, rewriting the later ones. The position's row must be locked by this transaction.
 * Takes as long as there are fills between that checkpoint and `end`.
 */
export async function refoldPosition(
  connection: Queryable,
  key: PositionKey,
  places: { readonly from: bigint; readonly end: bigint },
): Promise<PositionAt> {
  let reached = (await lastCheckpointBefore(connection, key, places.from)) ?? EMPTY_START;
  while (reached.sequence < places.end) {
    const page = { after: reached.sequence, end: places.end, limit: REFOLD_BLOCKS };
    const blocks = await findFillBlocks(connection, key, page);
    const firstPlace = blocks[0] === undefined ? places.end : blocks[0].sequence - CHECKPOINT_INTERVAL;
    const gap = { start: reached, end: firstPlace };
    reached = await foldFills(connection, key, gap, (passed) => markPlaces(connection, key, passed));
    const checkpoints = foldBlocks(reached, blocks);
    await saveCheckpoints(connection, key, checkpoints);
    reached = checkpoints.at(-1) ?? reached;
  }
  return reached;
}

/** Folds on the blocks up to the first that is missing; each gives a checkpoint. */
function foldBlocks(from: PositionAt, blocks: readonly FillBlock[]): PositionAt[] {
  const checkpoints: PositionAt[] = [];
  let reached = from;
  for (const { sequence, trades } of blocks) {
    if (sequence !== reached.sequence + CHECKPOINT_INTERVAL) break;
    reached = { position: foldTrades(trades, reached.position), sequence };
    checkpoints.push(reached);
  }
  return checkpoints;
}

/** Writes what later refolds go by: the position at these places, and the fills up to each. */
export async function markPlaces(
  connection: Queryable,
  key: PositionKey,
  checkpoints: readonly PositionAt[],
): Promise<void> {
  await saveCheckpoints(connection, key, checkpoints);
  await saveFillBlocks(
    connection,
    key,
    checkpoints.map(({ sequence }) => sequence),
  );
}

/** Folds a position's fills between two places, page by page; `onCheckpoints` gets the checkpoints of each page. */
export async function foldFills(
  queryable: Queryable,
  key: PositionKey,
  { start, end }: { readonly start: PositionAt; readonly end: bigint },
  onCheckpoints: (checkpoints: readonly PositionAt[]) => Promise<void>,
): Promise<PositionAt> {
  let reached = start;
  while (reached.sequence < end) {
    const trades = await positionTrades(queryable, key, { after: reached.sequence, end, limit: REFOLD_PAGE });
    const last = trades.at(-1);
    const pageEnd = trades.length < REFOLD_PAGE || last === undefined ? end : last.sequence;
    assert(pageEnd > reached.sequence, 'each page of fills is behind the one before');
    const { after, checkpoints } = foldWithCheckpoints(reached, trades, pageEnd);
    await onCheckpoints(checkpoints);
    reached = after;
  }
  return reached;
}

async function lastCheckpointBefore(
  queryable: Queryable,
  key: PositionKey,
  sequence: bigint,
): Promise<PositionAt | undefined> {
  const row = await firstRow<FiguresText & { sequence: string }>(queryable, {
    name: 'last-checkpoint-before',
    text: `
      select position_sequence::text as "sequence", quantity::text as "quantity",
             average_price::text as "averagePrice", realised_profit::text as "realisedProfit"
      from position_checkpoints
      where account_id = $1::text and symbol = $2::text and position_sequence < $3::bigint
      order by position_sequence desc limit 1`,
    values: [key.accountId, key.symbol, sequence.toString()],
  });
  return row === undefined ? undefined : { position: positionOf(row), sequence: BigInt(row.sequence) };
}

/** Writes checkpoints, over those that are there. The position's row must be locked by this transaction. */
async function saveCheckpoints(
  connection: Queryable,
  key: PositionKey,
  checkpoints: readonly PositionAt[],
): Promise<void> {
  if (checkpoints.length === 0) return;
  const texts = checkpoints.map(({ position }) => positionText(position));
  await connection.query({
    name: 'save-checkpoints',
    text: `
      insert into position_checkpoints
        (account_id, symbol, position_sequence, quantity, average_price, realised_profit)
      select $1::text, $2::text, c.position_sequence, c.quantity, c.average_price, c.realised_profit
      from unnest($3::bigint[], $4::numeric[], $5::numeric[], $6::numeric[])
        as c (position_sequence, quantity, average_price, realised_profit)
      on conflict on constraint position_checkpoints_pkey do update
      set quantity = excluded.quantity, average_price = excluded.average_price,
          realised_profit = excluded.realised_profit`,
    values: [
      key.accountId,
      key.symbol,
      checkpoints.map(({ sequence }) => sequence.toString()),
      texts.map(([quantity]) => quantity),
      texts.map(([, averagePrice]) => averagePrice),
      texts.map(([, , realisedProfit]) => realisedProfit),
    ],
  });
}
