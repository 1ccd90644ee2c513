import { CHECKPOINT_INTERVAL } from '../domain/position-checkpoint';
import { fixedPoint } from '../domain/fixed-point';
import type { Trade } from '../domain/position';
import { allRows, type Queryable } from './pool';
import type { PositionKey } from './position-updates';

/** What the fills between two checkpoints count for. */
export interface FillBlock {
  /** The last of its places, which is that of a checkpoint. */
  readonly sequence: bigint;
  /** In applied order, without busted fills. */
  readonly trades: readonly Trade[];
}

/** The copy of a block's fills. */
const TRADES_TEXT = `
  coalesce(
    string_agg(
      (case f.side when 'sell' then -trim_scale(f.effective_quantity) else trim_scale(f.effective_quantity) end)::text
        || '@' || trim_scale(f.effective_price)::text, ' ' order by f.position_sequence),
    '')`;

/** The blocks that are there between two places, oldest first. */
export async function findFillBlocks(
  queryable: Queryable,
  key: PositionKey,
  places: { readonly after: bigint; readonly end: bigint; readonly limit: number },
): Promise<FillBlock[]> {
  const rows = await allRows<{ sequence: string; trades: string }>(queryable, {
    name: 'find-fill-blocks',
    text: `
      select position_sequence::text as "sequence", trades as "trades" from fill_blocks
      where account_id = $1::text and symbol = $2::text and position_sequence > $3::bigint
        and position_sequence <= $4::bigint
      order by position_sequence limit $5::integer`,
    values: [key.accountId, key.symbol, places.after.toString(), places.end.toString(), places.limit],
  });
  return rows.map(({ sequence, trades }) => ({ sequence: BigInt(sequence), trades: tradesOf(trades) }));
}

/**
 * Copies the fills of whole blocks, given by their last places. The position's row must be locked by this transaction,
 * which has booked the fills and amended them: from here on only the trigger of `fills` may touch a block.
 */
export async function saveFillBlocks(
  connection: Queryable,
  key: PositionKey,
  sequences: readonly bigint[],
): Promise<void> {
  if (sequences.length === 0) return;
  await connection.query({
    name: 'save-fill-blocks',
    text: `
      insert into fill_blocks (account_id, symbol, position_sequence, trades)
      select $1::text, $2::text, block.place, ${TRADES_TEXT}
      from unnest($3::bigint[]) as block (place)
      left join fills f
        on f.account_id = $1::text and f.symbol = $2::text and f.effective_quantity > 0
        and f.position_sequence > block.place - $4::bigint and f.position_sequence <= block.place
      group by block.place
      on conflict on constraint fill_blocks_pkey do nothing`,
    values: [key.accountId, key.symbol, sequences.map(String), CHECKPOINT_INTERVAL.toString()],
  });
}

/** The last places of those blocks that are not what the fills say. */
export async function differingFillBlocks(queryable: Queryable, key: PositionKey): Promise<bigint[]> {
  const rows = await allRows<{ sequence: string }>(queryable, {
    text: `
      select b.position_sequence::text as "sequence" from fill_blocks b
      where b.account_id = $1::text and b.symbol = $2::text and b.trades <> (
        select ${TRADES_TEXT} from fills f
        where f.account_id = $1::text and f.symbol = $2::text and f.effective_quantity > 0
          and f.position_sequence > b.position_sequence - $3::bigint and f.position_sequence <= b.position_sequence)
      order by b.position_sequence`,
    values: [key.accountId, key.symbol, CHECKPOINT_INTERVAL.toString()],
  });
  return rows.map(({ sequence }) => BigInt(sequence));
}

function tradesOf(text: string): Trade[] {
  if (text === '') return [];
  return text.split(' ').map((trade) => {
    const at = trade.indexOf('@');
    return { quantity: fixedPoint(trade.slice(0, at)), price: fixedPoint(trade.slice(at + 1)) };
  });
}
