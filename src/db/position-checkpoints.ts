import { assert } from '../domain/assert';
import { EMPTY_POSITION } from '../domain/position';
import { foldWithCheckpoints, type PositionAt } from '../domain/position-checkpoint';
import { positionTrades } from './fills';
import { allRows, firstRow, type Queryable } from './pool';
import { positionOf, positionText, type PositionKey, type RawPosition } from './position-updates';

/** How many fills a refold holds in memory at a time. */
const REFOLD_PAGE = 10_000;

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
  const start = (await lastCheckpointBefore(connection, key, places.from)) ?? EMPTY_START;
  return foldFills(connection, key, { start, end: places.end }, (checkpoints) =>
    saveCheckpoints(connection, key, checkpoints),
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
  const row = await firstRow<CheckpointText>(queryable, {
    name: 'last-checkpoint-before',
    text: `
      select ${CHECKPOINT_COLUMNS} from position_checkpoints
      where account_id = $1::text and symbol = $2::text and position_sequence < $3::bigint
      order by position_sequence desc limit 1`,
    values: [key.accountId, key.symbol, sequence.toString()],
  });
  return row === undefined ? undefined : checkpointOf(row);
}

/** All checkpoints of a position, oldest first. */
export async function listCheckpoints(queryable: Queryable, key: PositionKey): Promise<PositionAt[]> {
  const rows = await allRows<CheckpointText>(queryable, {
    text: `
      select ${CHECKPOINT_COLUMNS} from position_checkpoints
      where account_id = $1::text and symbol = $2::text
      order by position_sequence`,
    values: [key.accountId, key.symbol],
  });
  return rows.map(checkpointOf);
}

/** Writes checkpoints, over those that are there. The position's row must be locked by this transaction. */
export async function saveCheckpoints(
  connection: Queryable,
  key: PositionKey,
  checkpoints: readonly PositionAt[],
): Promise<void> {
  if (checkpoints.length === 0) return;
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
      checkpoints.map(({ position }) => positionText(position)[0]),
      checkpoints.map(({ position }) => positionText(position)[1]),
      checkpoints.map(({ position }) => positionText(position)[2]),
    ],
  });
}

const CHECKPOINT_COLUMNS = `
  position_sequence::text as "sequence", quantity::text as "quantity", average_price::text as "averagePrice",
  realised_profit::text as "realisedProfit"`;

interface CheckpointText extends Omit<RawPosition, 'lastSequence'> {
  readonly sequence: string;
}

function checkpointOf(row: CheckpointText): PositionAt {
  return { position: positionOf(row), sequence: BigInt(row.sequence) };
}
