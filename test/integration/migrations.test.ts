import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrate, NewerDatabaseError } from '../../src/db/migrations';
import { allRows } from '../../src/db/pool';
import { dumpSchema } from '../../src/db/schema-dump';
import { silentLogger } from '../../src/observability/logger';
import { packageRoot } from '../../src/package-root';
import {
  createEmptyDatabase,
  createTestDatabase,
  MIGRATIONS_DIRECTORY,
  type TestDatabase,
} from '../support/test-database';

const databases: TestDatabase[] = [];

afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop();
});

interface Setup {
  readonly database: TestDatabase;
  readonly migrateOnce: () => Promise<readonly string[]>;
  readonly appliedMigrations: () => Promise<readonly unknown[]>;
}

async function setup(create: () => Promise<TestDatabase>): Promise<Setup> {
  const database = await create();
  databases.push(database);
  return {
    database,
    migrateOnce: () =>
      migrate({ connectionString: database.url, directory: MIGRATIONS_DIRECTORY }, silentLogger()),
    appliedMigrations: () =>
      allRows(database.pool, { text: 'select id, name, run_on from pgmigrations order by id' }),
  };
}

describe('the migrations', () => {
  test('a freshly migrated database has the committed schema', async () => {
    const { database } = await setup(createTestDatabase);
    const committed = readFileSync(join(packageRoot(), 'test', 'schema.sql'), 'utf8');
    expect(await dumpSchema(database.pool)).toBe(committed);
  });

  test('the second run changes nothing', async () => {
    const { database, migrateOnce, appliedMigrations } = await setup(createEmptyDatabase);
    const first = await migrateOnce();
    expect(first).toContain('0001_api-keys');
    const before = { schema: await dumpSchema(database.pool), applied: await appliedMigrations() };
    expect(await migrateOnce()).toEqual([]);
    expect({ schema: await dumpSchema(database.pool), applied: await appliedMigrations() }).toEqual(before);
  });

  test('two migrators at once both succeed, and each migration runs once', async () => {
    const { migrateOnce, appliedMigrations } = await setup(createEmptyDatabase);
    const outcomes = await Promise.all([migrateOnce(), migrateOnce(), migrateOnce()]);
    const applied = outcomes.flat();
    expect(new Set(applied).size).toBe(applied.length);
    expect(await appliedMigrations()).toHaveLength(applied.length);
  });

  test('a database of a newer version is refused and left as it is', async () => {
    const { database, migrateOnce } = await setup(createTestDatabase);
    await database.pool.query(
      "insert into pgmigrations (name, run_on) values ('9999_from-the-future', now())",
    );
    const before = await dumpSchema(database.pool);
    const refusal = await migrateOnce().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(NewerDatabaseError);
    expect(String(refusal)).toContain('9999_from-the-future');
    expect(await dumpSchema(database.pool)).toBe(before);
  });
});

describe('the schema dump', () => {
  test('shows every kind of change to a table and to a function', async () => {
    const { database } = await setup(createTestDatabase);
    const changes = [
      'alter table api_keys add column note text',
      "alter table api_keys alter column note set default 'none'",
      'alter table api_keys alter column note set not null',
      "alter table api_keys add constraint note_check check (note <> '')",
      'create index api_keys_note on api_keys (note)',
      "comment on column api_keys.note is 'The owner''s words'",
      "comment on table api_keys is 'Changed'",
      "create function stamp() returns trigger language plpgsql as 'begin return new; end'",
      "create or replace function stamp() returns trigger language plpgsql as 'begin return null; end'",
      "comment on function stamp() is 'Changed'",
      'create trigger api_keys_stamp before insert on api_keys for each row execute function stamp()',
      'alter trigger api_keys_stamp on api_keys rename to api_keys_stamped',
    ];
    const seen = new Set([await dumpSchema(database.pool)]);
    for (const change of changes) {
      await database.pool.query(change);
      seen.add(await dumpSchema(database.pool));
    }
    expect(seen.size).toBe(changes.length + 1);
  });

  test.each([
    [
      'create view open_keys as select key_id from api_keys where revoked_at is null',
      'open_keys (relation kind v)',
    ],
    ['create aggregate total (numeric) (sfunc = numeric_add, stype = numeric)', 'total (aggregate)'],
    ["create type colour as enum ('red')", 'colour (type)'],
  ])('refuses a schema with an object that it would leave out: %s', async (change, named) => {
    const { database } = await setup(createTestDatabase);
    await database.pool.query(change);
    await expect(dumpSchema(database.pool)).rejects.toThrow(named);
  });
});
