import type { Config } from '../config';
import { createPool, type Pool } from '../db/pool';
import { startAdminServer } from '../http/admin-server';
import type { Lifecycle } from '../lifecycle';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';

/** A pool that closes with the process. */
export function openPool(
  lifecycle: Lifecycle,
  config: Config,
  logger: Logger,
  applicationName: string,
): Pool {
  const pool = createPool(
    {
      connectionString: config.DATABASE_URL,
      size: config.DATABASE_POOL_SIZE,
      statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
      connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
      applicationName,
    },
    logger,
  );
  lifecycle.started('database pool', () => pool.end());
  return pool;
}

/** A readiness check: does the database answer? */
export function databaseCheck(pool: Pool): () => Promise<void> {
  return async () => {
    await pool.query('select 1');
  };
}

/** Health and metrics on a port of their own. */
export async function openAdminServer(
  lifecycle: Lifecycle,
  config: Config,
  parts: { readonly logger: Logger; readonly metrics: Metrics },
  checks: Readonly<Record<string, () => Promise<void>>>,
): Promise<void> {
  const server = await startAdminServer({
    host: config.ADMIN_HOST,
    port: config.ADMIN_PORT,
    checks,
    ...parts,
  });
  lifecycle.started('admin server', () => server.close());
  parts.logger.info({ host: config.ADMIN_HOST, port: server.port }, 'health and metrics are served');
}
