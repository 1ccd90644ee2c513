import type { Pool } from '../../src/db/pool';

/** Everything that an account's orders have become, in a form in which two moments can be compared. */
export async function accountRows(pool: Pool, accountId: string): Promise<Record<string, unknown[]>> {
  const tables = {
    orders: 'select * from orders where account_id = $1 order by client_order_id',
    keys: 'select * from idempotency_keys where account_id = $1 order by client_order_id',
    events: 'select * from order_events where account_id = $1 order by client_order_id, sequence',
    fills: 'select * from fills where account_id = $1 order by position_sequence',
    positions: 'select * from positions where account_id = $1 order by symbol',
    changes: 'select * from position_changes where account_id = $1 order by symbol, sequence',
    checkpoints:
      'select * from position_checkpoints where account_id = $1 order by symbol, position_sequence',
    blocks: 'select * from fill_blocks where account_id = $1 order by symbol, position_sequence',
  };
  const rows = await Promise.all(
    Object.entries(tables).map(
      async ([name, text]) => [name, (await pool.query(text, [accountId])).rows] as const,
    ),
  );
  return Object.fromEntries(rows);
}
