import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { Client } from 'pg';
import type { Logger } from '../observability/logger';

/** The migrations that ran are listed here, by file name without its ending. */
const MIGRATIONS_TABLE = 'pgmigrations';
/** Any number that no other program takes; two migrators of one database meet on it. */
const MIGRATION_LOCK = 7_024_533_871;
const CONNECT_TIMEOUT_MS = 10_000;
/** How long a migrator waits for another one, and a migration for a table that is in use. */
const LOCK_TIMEOUT_MS = 60_000;

export interface MigrateOptions {
  readonly connectionString: string;
  /** The folder with the SQL files. */
  readonly directory: string;
}

/** Raised when the database was migrated by a later version of this program. */
export class NewerDatabaseError extends Error {
  override readonly name = 'NewerDatabaseError';
}

/**
 * Brings the database to this version's schema, all pending files in one transaction. Running it again changes
 * nothing; of two at once, one waits for the other.
 * @returns the names of the migrations that this call applied.
 * @throws {NewerDatabaseError} when the database holds migrations that this version does not know.
 */
export async function migrate(options: MigrateOptions, logger: Logger): Promise<readonly string[]> {
  const client = new Client({
    connectionString: options.connectionString,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    application_name: 'tekil migrate',
  });
  await client.connect();
  try {
    // Held by the session: it is let go of when the connection ends, however it ends.
    await client.query('select pg_advisory_lock($1::bigint)', [MIGRATION_LOCK]);
    await refuseNewerDatabase(client, options.directory);
    // The package is an ES module, which this CommonJS build can only import at run time.
    const { runner } = await import('node-pg-migrate');
    const applied = await runner({
      dbClient: client,
      dir: options.directory,
      direction: 'up',
      migrationsTable: MIGRATIONS_TABLE,
      singleTransaction: true,
      noLock: true,
      log: (message) => {
        logger.debug({ part: 'migrations' }, message);
      },
    });
    return applied.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

async function refuseNewerDatabase(client: Client, directory: string): Promise<void> {
  const table = await client.query<{ found: boolean }>(
    'select to_regclass($1::text) is not null as "found"',
    [`public.${MIGRATIONS_TABLE}`],
  );
  if (table.rows[0]?.found !== true) return;
  const known = new Set(await migrationNames(directory));
  const done = await client.query<{ name: string }>(
    `select name from public.${MIGRATIONS_TABLE} order by id`,
  );
  const unknown = done.rows.map(({ name }) => name).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new NewerDatabaseError(
    `The database was migrated by a newer version of Tekil (it holds ${unknown.join(', ')}): run that version instead`,
  );
}

async function migrationNames(directory: string): Promise<string[]> {
  const files = await readdir(directory);
  return files.filter((file) => file.endsWith('.sql')).map((file) => basename(file, '.sql'));
}
