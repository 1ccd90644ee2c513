import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../src/db/migrations';
import { createPool, type Pool } from '../../src/db/pool';
import { startPostgres } from '../../src/dev/postgres';
import { silentLogger } from '../../src/observability/logger';
import { packageRoot } from '../../src/package-root';

const STATEMENT_TIMEOUT_MS = 3_600_000;
const CONNECT_TIMEOUT_MS = 5_000;

/** Runs `work` beside a PostgreSQL of its own with durable commits, in a folder that is gone afterwards. */
export async function withPostgres(work: (url: string, dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tekil-bench-'));
  try {
    const postgres = await startPostgres({ dataDir, durable: true });
    try {
      await work(postgres.url, dataDir);
    } finally {
      await postgres.stop();
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** A pool whose statements may take their time. */
export function benchPool(connectionString: string, size: number): Pool {
  return createPool(
    {
      connectionString,
      size,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      applicationName: 'tekil bench',
    },
    silentLogger(),
  );
}

/** Brings an empty database to the schema of this version. */
export async function migrateBench(connectionString: string): Promise<void> {
  await migrate({ connectionString, directory: join(packageRoot(), 'migrations') }, silentLogger());
}

/** The address of another database of the same server. */
export function databaseAt(url: string, database: string): string {
  const target = new URL(url);
  target.pathname = `/${database}`;
  return target.href;
}
