import { checkDedupLayout, DedupLayoutError } from '../../src/db/check-dedup-layout';
import type { DedupLayout } from '../../src/db/dedup-partitions';
import { createDatabaseOf, DEDUP_LAYOUTS } from '../support/dedup-layouts';
import { createEmptyDatabase, type TestDatabase } from '../support/test-database';

const databases: TestDatabase[] = [];
afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop();
});

async function setup(layout: DedupLayout, ...changes: readonly string[]): Promise<() => Promise<void>> {
  const database = await createDatabaseOf(layout);
  databases.push(database);
  for (const change of changes) await database.pool.query(change);
  return () => checkDedupLayout(database.pool);
}

describe.each(DEDUP_LAYOUTS)('the check of the dedup tables at start, on the %s layout', (layout) => {
  test('accepts the schema of this version', async () => {
    const check = await setup(layout);
    await expect(check()).resolves.toBeUndefined();
  });

  test('names every key and column at once', async () => {
    const check = await setup(
      layout,
      'create unique index fills_wrong on fills (source, execution_id, booked_at)',
      'create unique index keys_wrong on idempotency_keys (created_at)',
    );
    const error = await check().catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(DedupLayoutError);
    expect(String(error)).toContain('fills_wrong of fills contains booked_at, whose default is now()');
    expect(String(error)).toContain('keys_wrong of idempotency_keys contains created_at');
  });

  test('refuses a table that has lost its key', async () => {
    const check = await setup(layout, 'alter table fills drop constraint fills_execution_unique');
    await expect(check()).rejects.toThrow('fills has no valid unique key of exactly (source, execution_id)');
  });
});

describe('the check of the dedup tables at start', () => {
  // https://github.com/edictum-ai/edictum-console/issues/87
  test('refuses a table that is partitioned by the time of its insert', async () => {
    const check = await setup(
      'standard',
      'drop table processed_events',
      `create table processed_events (
         source text, event_type text, event_id text, created_at timestamptz not null default now(),
         unique (source, event_type, event_id, created_at)) partition by range (created_at)`,
    );
    const refusal = check();
    await expect(refusal).rejects.toThrow(
      /_key of processed_events contains created_at, whose default is now\(\)/,
    );
    await expect(refusal).rejects.toThrow('the partition key of processed_events contains created_at');
    await expect(refusal).rejects.toThrow(
      'no valid unique key of exactly (source, event_type, event_id, event_time)',
    );
    await expect(refusal).rejects.toThrow('its trigger processed_events_identity is missing or disabled');
  });

  test.each([
    ['now()', true],
    ['current_timestamp', true],
    ["(now() at time zone 'UTC')::date", true],
    ['clock_timestamp()', true],
    ['gen_random_uuid()::text', true],
    ["nextval('ids')", true],
    ['current_user', true],
    ['its_own()', true],
    ["'EUREX'", false],
    ["timestamptz '2026-01-01 00:00:00+00'", false],
    ["lower('EUREX')", false],
  ])('with a key column whose default is %s: refused is %s', async (expression, refused) => {
    const type = /time|now|date/.test(expression)
      ? expression.includes('::date')
        ? 'date'
        : 'timestamptz'
      : 'text';
    const check = await setup(
      'standard',
      'create sequence ids',
      `create function its_own() returns text language sql stable as $$ select now()::text $$`,
      `alter table fills add column extra ${type} default ${expression}`,
      'create unique index fills_extra on fills (source, execution_id, extra)',
    );
    if (refused) await expect(check()).rejects.toThrow('fills_extra of fills contains extra');
    else await expect(check()).resolves.toBeUndefined();
  });

  test('looks at each partition, whose default may be its own', async () => {
    const check = await setup(
      'partitioned',
      'alter table processed_events_default alter column event_time set default now()',
    );
    await expect(check()).rejects.toThrow('of processed_events_default contains event_time');
  });

  test.each(['drop trigger %s on processed_events', 'alter table processed_events disable trigger %s'])(
    'refuses a partitioned table without its trigger: %s',
    async (change) => {
      const check = await setup('partitioned', change.replace('%s', 'processed_events_identity'));
      await expect(check()).rejects.toThrow('processed_events_identity is missing or disabled');
    },
  );

  test('says that a database was not migrated', async () => {
    const database = await createEmptyDatabase();
    databases.push(database);
    await expect(checkDedupLayout(database.pool)).rejects.toThrow('run "tekil migrate"');
  });
});
