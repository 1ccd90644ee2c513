import type { Pool, PoolClient } from './pool';

/** Called around the commit; the fault tests end the process here. */
export interface TransactionHooks {
  readonly beforeCommit?: () => void | Promise<void>;
  readonly afterCommit?: () => void | Promise<void>;
}

/**
 * Runs `work` in one transaction (read committed). Any error rolls everything back and is thrown on. A connection
 * that could not even roll back is closed, not returned to the pool.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (connection: PoolClient) => Promise<T>,
  hooks: TransactionHooks = {},
): Promise<T> {
  const connection = await pool.connect();
  let broken: Error | undefined;
  try {
    await connection.query('begin');
    const result = await work(connection);
    await hooks.beforeCommit?.();
    await connection.query('commit');
    await hooks.afterCommit?.();
    return result;
  } catch (error) {
    broken = await rollback(connection);
    throw error;
  } finally {
    connection.release(broken);
  }
}

async function rollback(connection: PoolClient): Promise<Error | undefined> {
  try {
    await connection.query('rollback');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error('rollback failed', { cause: error });
  }
}
