import type { Position } from '../domain/position';
import { differingFillBlocks } from './fill-blocks';
import { allRows, firstRow, type Pool, type Queryable } from './pool';
import { EMPTY_START, foldFills } from './position-checkpoints';
import { positionText, type FiguresText, type PositionKey } from './position-updates';
import { inTransaction } from './transaction';

/** How many positions are looked up at a time. */
const KEY_PAGE = 500;

/** A stored figure that is not what the fills give. */
export interface PositionDifference extends PositionKey {
  /** What is stored: the position, one of its checkpoints or of its blocks of fills, or its latest change. */
  readonly where: string;
  readonly stored: string;
  readonly folded: string;
}

/** Which positions to look at. */
export interface PositionPage {
  /** Only this account's. */
  readonly accountId?: string | undefined;
  /** Those behind this one; the empty key is before all. */
  readonly after?: PositionKey | undefined;
  /** At most so many. */
  readonly limit: number;
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
  let count = 0;
  let after: PositionKey | undefined;
  do {
    const page: PositionPage = { accountId, after, limit: KEY_PAGE };
    after = await verifyPositionPage(pool, page, (_key, differences) => {
      count += 1;
      differences.forEach(onDifference);
    });
  } while (after !== undefined);
  return count;
}

/**
 * The same for one page, in the order of the keys.
 * @param onVerified called after each position with what differs.
 * @returns the last position of the page when there may be more behind it.
 */
export async function verifyPositionPage(
  pool: Pool,
  page: PositionPage,
  onVerified: (key: PositionKey, differences: readonly PositionDifference[]) => void,
): Promise<PositionKey | undefined> {
  const keys = await listKeys(pool, page);
  for (const key of keys) onVerified(key, await verifyPosition(pool, key));
  return keys.length < page.limit ? undefined : keys.at(-1);
}

/**
 * The keys of positions, and of fills: a position whose row somebody deleted has only these. The distinct keys of fills
 * are found by leaping from one to the next in the index, so the cost grows with the positions and not with the fills.
 */
async function listKeys(
  queryable: Queryable,
  { accountId, after, limit }: PositionPage,
): Promise<PositionKey[]> {
  return allRows<{ accountId: string; symbol: string }>(queryable, {
    text: `
      with recursive filled (account_id, symbol) as (
        (select f.account_id, f.symbol from fills f
         where (f.account_id, f.symbol) > ($2::text, $3::text) and ($1::text is null or f.account_id = $1::text)
         order by f.account_id, f.symbol limit 1)
        union all
        (select next.account_id, next.symbol from filled
         cross join lateral (
           select f.account_id, f.symbol from fills f
           where (f.account_id, f.symbol) > (filled.account_id, filled.symbol)
             and ($1::text is null or f.account_id = $1::text)
           order by f.account_id, f.symbol limit 1) next)
      )
      select account_id as "accountId", symbol as "symbol" from (
        (select account_id, symbol from positions
         where (account_id, symbol) > ($2::text, $3::text) and ($1::text is null or account_id = $1::text)
         order by account_id, symbol limit $4::integer)
        union
        (select account_id, symbol from filled limit $4::integer)
      ) keys
      order by account_id, symbol limit $4::integer`,
    values: [accountId ?? null, after?.accountId ?? '', after?.symbol ?? '', limit],
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
  const compare = (
    where: string,
    found: FiguresText | undefined,
    right: Position | undefined,
  ): Difference[] => {
    const difference = { where, stored: storedText(found), folded: foldedText(right) };
    return difference.stored === difference.folded ? [] : [difference];
  };
  const { position, latestChange } = stored;
  return [
    ...compare('position', position, folded),
    // A position whose fills are older than the table of changes has none.
    ...(latestChange === undefined ? [] : compare('latest change', latestChange, folded)),
    ...stored.checkpoints.flatMap((checkpoint) =>
      compare(`checkpoint ${checkpoint.place}`, checkpoint, checkpoints.get(BigInt(checkpoint.place))),
    ),
    ...stored.differingBlocks.map((place) => ({
      where: `block of fills ${place.toString()}`,
      stored: 'other fills',
      folded: 'the fills of its places',
    })),
  ];
}

type Difference = Omit<PositionDifference, keyof PositionKey>;

/** Figures stay the text that they are: whatever somebody wrote there is to be shown. */
interface StoredPosition {
  readonly position: FiguresText | undefined;
  readonly latestChange: FiguresText | undefined;
  /** Oldest first. */
  readonly checkpoints: readonly (FiguresText & { readonly place: string })[];
  /** The last places of those blocks of fills that are not what the fills say. */
  readonly differingBlocks: readonly bigint[];
  /** Of the last fill, wherever the position's row believes it to be. */
  readonly lastPlace: bigint;
}

const FIGURES = `
  trim_scale(quantity)::text as "quantity", trim_scale(average_price)::text as "averagePrice",
  trim_scale(realised_profit)::text as "realisedProfit"`;

async function readStored(connection: Queryable, key: PositionKey): Promise<StoredPosition> {
  const values = [key.accountId, key.symbol];
  const position = await firstRow<FiguresText & { lastSequence: string }>(connection, {
    text: `
      select ${FIGURES}, last_sequence::text as "lastSequence"
      from positions where account_id = $1::text and symbol = $2::text`,
    values,
  });
  const latestChange = await firstRow<FiguresText>(connection, {
    text: `
      select ${FIGURES}
      from position_changes where account_id = $1::text and symbol = $2::text order by sequence desc limit 1`,
    values,
  });
  const checkpoints = await allRows<FiguresText & { place: string }>(connection, {
    text: `
      select ${FIGURES}, position_sequence::text as "place"
      from position_checkpoints where account_id = $1::text and symbol = $2::text order by position_sequence`,
    values,
  });
  const last = await firstRow<{ place: string }>(connection, {
    text: `
      select coalesce(max(position_sequence), 0)::text as "place"
      from fills where account_id = $1::text and symbol = $2::text`,
    values,
  });
  const lastFill = BigInt(last?.place ?? 0);
  const lastSequence = BigInt(position?.lastSequence ?? 0);
  return {
    position,
    latestChange,
    checkpoints,
    differingBlocks: await differingFillBlocks(connection, key),
    lastPlace: lastFill > lastSequence ? lastFill : lastSequence,
  };
}

function foldedText(position: Position | undefined): string {
  if (position === undefined) return 'none';
  const [quantity, averagePrice, realisedProfit] = positionText(position);
  return storedText({ quantity, averagePrice, realisedProfit });
}

function storedText(figures: FiguresText | undefined): string {
  if (figures === undefined) return 'none';
  const { quantity, averagePrice, realisedProfit } = figures;
  return `quantity ${quantity}, average ${averagePrice ?? 'none'}, realised ${realisedProfit}`;
}
