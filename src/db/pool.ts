import { Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg';
import type { Logger } from '../observability/logger';

export type { Pool, PoolClient };

/** One SQL statement: hot ones carry a name, so that PostgreSQL plans them once a connection. */
export interface Statement {
  readonly text: string;
  readonly name?: string;
  readonly values?: readonly unknown[];
}

/** A pool or one of its connections: what a function needs that runs a single statement. */
export interface Queryable {
  query<R extends QueryResultRow>(statement: Statement): Promise<QueryResult<R>>;
}

export interface PoolOptions {
  readonly connectionString: string;
  readonly size: number;
  readonly statementTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly applicationName: string;
}

/** A pool whose every wait has a bound: for a connection, for a lock, for a statement. */
export function createPool(options: PoolOptions, logger: Logger): Pool {
  const pool = new Pool({
    connectionString: options.connectionString,
    max: options.size,
    connectionTimeoutMillis: options.connectTimeoutMs,
    statement_timeout: options.statementTimeoutMs,
    // The server gives up first and says why; this one is for a server that no longer answers at all.
    query_timeout: options.statementTimeoutMs + 1_000,
    lock_timeout: options.statementTimeoutMs,
    idle_in_transaction_session_timeout: options.statementTimeoutMs * 2,
    application_name: options.applicationName,
    keepAlive: true,
  });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', (error) => {
    logger.warn({ err: error }, 'an idle database connection broke');
  });
  return pool;
}

/** The first row, or undefined. */
export async function firstRow<R extends QueryResultRow>(
  queryable: Queryable,
  statement: Statement,
): Promise<R | undefined> {
  const result = await queryable.query<R>(statement);
  return result.rows[0];
}

/** All rows. */
export async function allRows<R extends QueryResultRow>(
  queryable: Queryable,
  statement: Statement,
): Promise<R[]> {
  const result = await queryable.query<R>(statement);
  return result.rows;
}
