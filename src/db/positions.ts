import { allRows, firstRow, type Queryable } from './pool';

/** A position as it stands. Decimals are canonical text. */
export interface PositionRow {
  readonly accountId: string;
  readonly symbol: string;
  /** Signed: above zero is long. */
  readonly quantity: string;
  /** Null exactly when flat. */
  readonly averagePrice: string | null;
  readonly realisedProfit: string;
  readonly updatedAt: string;
}

const POSITION_COLUMNS = `
  p.account_id as "accountId", p.symbol as "symbol", trim_scale(p.quantity)::text as "quantity",
  trim_scale(p.average_price)::text as "averagePrice", trim_scale(p.realised_profit)::text as "realisedProfit",
  to_char(p.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "updatedAt"`;

export async function findPosition(
  queryable: Queryable,
  key: { readonly accountId: string; readonly symbol: string },
): Promise<PositionRow | undefined> {
  return firstRow<PositionRow>(queryable, {
    name: 'find-position',
    text: `select ${POSITION_COLUMNS} from positions p where p.account_id = $1::text and p.symbol = $2::text`,
    values: [key.accountId, key.symbol],
  });
}

/** By symbol. */
export async function listPositions(
  queryable: Queryable,
  page: { readonly accountId: string; readonly afterSymbol?: string; readonly limit: number },
): Promise<PositionRow[]> {
  return allRows<PositionRow>(queryable, {
    text: `
      select ${POSITION_COLUMNS} from positions p
      where p.account_id = $1::text and ($2::text is null or p.symbol > $2::text)
      order by p.symbol limit $3::integer`,
    values: [page.accountId, page.afterSymbol ?? null, page.limit],
  });
}

/** What an execution made of a position. Decimals are canonical text. */
export interface PositionChangeRow {
  /** Counts from 1 in each position. */
  readonly sequence: number;
  readonly type: 'FILL' | 'BUST' | 'CORRECT';
  readonly source: string;
  readonly executionId: string;
  readonly clientOrderId: string;
  /** The position after it. */
  readonly quantity: string;
  readonly averagePrice: string | null;
  readonly realisedProfit: string;
  readonly recordedAt: string;
}

/** The newest first. */
export async function listPositionChanges(
  queryable: Queryable,
  key: { readonly accountId: string; readonly symbol: string },
  page: { readonly beforeSequence?: string; readonly limit: number },
): Promise<PositionChangeRow[]> {
  const rows = await allRows<Omit<PositionChangeRow, 'sequence'> & { readonly sequence: string }>(queryable, {
    text: `
      select c.sequence::text as "sequence", c.event_type as "type", c.source as "source",
             c.execution_id as "executionId", c.client_order_id as "clientOrderId",
             trim_scale(c.quantity)::text as "quantity", trim_scale(c.average_price)::text as "averagePrice",
             trim_scale(c.realised_profit)::text as "realisedProfit",
             to_char(c.recorded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "recordedAt"
      from position_changes c
      where c.account_id = $1::text and c.symbol = $2::text and ($3::bigint is null or c.sequence < $3::bigint)
      order by c.sequence desc limit $4::integer`,
    values: [key.accountId, key.symbol, page.beforeSequence ?? null, page.limit],
  });
  return rows.map((row) => ({ ...row, sequence: Number(row.sequence) }));
}
