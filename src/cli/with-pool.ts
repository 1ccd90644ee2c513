import { createPool, type Pool } from '../db/pool';
import { createLogger } from '../observability/logger';

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 10_000;

/** One connection for the length of a command. */
export async function withPool(
  command: string,
  databaseUrl: string,
  work: (pool: Pool) => Promise<void>,
): Promise<void> {
  const pool = createPool(
    {
      connectionString: databaseUrl,
      size: 1,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      applicationName: `tekil ${command}`,
    },
    createLogger(command, 'warn'),
  );
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
}
