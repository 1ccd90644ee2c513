import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrate } from '../../src/db/migrations';
import { createPool, type Pool } from '../../src/db/pool';
import { silentLogger } from '../../src/observability/logger';
import { packageRoot } from '../../src/package-root';
import { serverAddress } from './environment';

export const MIGRATIONS_DIRECTORY = join(packageRoot(), 'migrations');

/** Test files that run at the same time agree on this number to create a template one after the other. */
const TEMPLATE_LOCK = 7_024_533_872;
const TEMPLATE_LOCK_TIMEOUT_MS = 60_000;

/** A database of one test file's own. */
export interface TestDatabase {
  readonly url: string;
  readonly pool: Pool;
  /** Ends the pool and removes the database, whoever is still connected to it. */
  drop(): Promise<void>;
}

/** A migrated database, cloned from a template that is migrated once a server. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const template = await withServer(ensureTemplate);
  return openTestDatabase(`template ${template}`);
}

/** A database without any table, for the tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return openTestDatabase('template template0');
}

async function openTestDatabase(source: string): Promise<TestDatabase> {
  const name = `tekil_test_${randomUUID().replaceAll('-', '')}`;
  await withServer((client) => client.query(`create database ${name} ${source}`));
  const url = urlOf(name);
  const pool = createPool(
    {
      connectionString: url,
      size: 16,
      statementTimeoutMs: 20_000,
      connectTimeoutMs: 10_000,
      applicationName: 'tekil test',
    },
    silentLogger(),
  );
  return {
    url,
    pool,
    drop: async () => {
      await pool.end();
      await withServer((client) => client.query(`drop database if exists ${name} with (force)`));
    },
  };
}

async function ensureTemplate(client: Client): Promise<string> {
  const name = `tekil_template_${migrationsDigest()}`;
  // The session's end lets go of the lock, so that a killed test run leaves nothing behind that blocks the next.
  await client.query('select pg_advisory_lock($1::bigint)', [TEMPLATE_LOCK]);
  const found = await client.query('select 1 from pg_database where datname = $1::text', [name]);
  if (found.rowCount === 1) return name;
  const building = `${name}_building`;
  await client.query(`drop database if exists ${building} with (force)`);
  await client.query(`create database ${building} template template0`);
  await migrate({ connectionString: urlOf(building), directory: MIGRATIONS_DIRECTORY }, silentLogger());
  await client.query(`alter database ${building} rename to ${name}`);
  return name;
}

/** Changed migrations get a template of their own: a server that outlives a change never serves the old schema. */
function migrationsDigest(): string {
  const hash = createHash('sha256');
  for (const file of readdirSync(MIGRATIONS_DIRECTORY).sort()) {
    hash.update(file).update(readFileSync(join(MIGRATIONS_DIRECTORY, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

function urlOf(database: string): string {
  const url = new URL(serverAddress('DATABASE_URL'));
  url.pathname = `/${database}`;
  return url.href;
}

async function withServer<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: serverAddress('DATABASE_URL'),
    lock_timeout: TEMPLATE_LOCK_TIMEOUT_MS,
    application_name: 'tekil test set-up',
  });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
