import type { Config } from '../config';
import { checkDedupLayout } from '../db/check-dedup-layout';
import { databaseFault } from '../db/pg-errors';
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

const LAYOUT_CHECK_INTERVAL_MS = 5_000;

/**
 * Refuses to run on a database that would not recognise repeats. One that does not answer yet stops no process from
 * starting: it is asked again until it does.
 * @throws {DedupLayoutError}; later, `fail` hears of it.
 */
export async function requireDedupLayout(
  lifecycle: Lifecycle,
  pool: Pool,
  logger: Logger,
  fail: (error: unknown) => void,
): Promise<void> {
  const isChecked = async (): Promise<boolean> => {
    try {
      await checkDedupLayout(pool);
      return true;
    } catch (error) {
      if (databaseFault(error) === 'permanent') throw error;
      logger.warn({ err: error }, 'the layout of the dedup tables is not checked yet');
      return false;
    }
  };
  if (await isChecked()) return;
  const timer = setInterval(() => {
    isChecked().then((checked) => {
      if (checked) clearInterval(timer);
    }, fail);
  }, LAYOUT_CHECK_INTERVAL_MS);
  lifecycle.started('check of the dedup layout', () => {
    clearInterval(timer);
    return Promise.resolve();
  });
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
