import {
  estimateDedupRows,
  MAX_COUNTED,
  oldestProcessedEventAge,
  openParked,
  openQuarantine,
} from '../../src/db/backlog';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await database.drop();
});

/** Events whose ages, in hours, are spread evenly from one to `count`. */
async function processed(count: number, table = 'processed_events'): Promise<void> {
  await database.pool.query(
    `insert into ${table} (source, event_type, event_id, content_hash, event_time, processed_at)
     select 'SIM', 'FILL', n::text, sha256(n::text::bytea), now() - n * interval '1 hour', now() - n * interval '1 hour'
     from generate_series(1, $1::integer) as n`,
    [count],
  );
}

async function quarantined(reason: string, ages: readonly number[]): Promise<void> {
  await database.pool.query(
    `insert into quarantined_events (reason, detail, content_hash, payload, quarantined_at)
     select $1, 'odd', sha256(($1 || age)::bytea), '{', now() - age * interval '1 second'
     from unnest($2::float8[]) as age`,
    [reason, ages],
  );
}

async function parked(ages: readonly number[]): Promise<void> {
  await database.pool.query(
    `insert into parked_executions
       (source, event_type, execution_id, account_id, client_order_id, content_hash, execution, parked_at)
     select 'SIM', 'FILL', age::text, 'acme', 'order-1', sha256(age::text::bytea), '{}', now() - age * interval '1 second'
     from unnest($1::float8[]) as age`,
    [ages],
  );
}

/** A decision about every event that is older than so many seconds. */
async function decideAbout(table: string, column: string, seconds: number): Promise<void> {
  await database.pool.query(
    `with decision as (
       insert into operator_decisions (decision, reason, decided_by, outcome)
       values ('discard', 'a test', 'test', 'discarded') returning id)
     update ${table} set decision_id = decision.id from decision
     where ${column} < now() - $1::float8 * interval '1 second'`,
    [seconds],
  );
}

async function planOf(text: string): Promise<string> {
  const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

describe('the dedup rows', () => {
  test('have no age when there are none', async () => {
    expect(await oldestProcessedEventAge(database.pool)).toBeNull();
    expect(await estimateDedupRows(database.pool)).toEqual(
      new Map([
        ['processed_events', 0],
        ['idempotency_keys', 0],
      ]),
    );
  });

  test('are as old as the oldest, in seconds', async () => {
    await processed(100);
    expect(Math.abs((await oldestProcessedEventAge(database.pool))! - 360_000)).toBeLessThan(60);
  });

  test('are estimated from the statistics, and the age is read off the index', async () => {
    await processed(5_000);
    await database.pool.query('vacuum analyze processed_events');
    expect((await estimateDedupRows(database.pool)).get('processed_events')).toBe(5_000);
    const plan = await planOf('select min(processed_at) from processed_events');
    expect(plan).toMatch(/Index Only Scan using processed_events_processed_at/);
  });

  test('of a partitioned table are those of its partitions, each once, and the oldest of all', async () => {
    await database.pool.query(`
      alter table processed_events rename to former;
      create table processed_events (
        source text not null, event_type text not null, event_id text not null, content_hash bytea not null,
        event_time timestamptz not null, processed_at timestamptz not null default now()
      ) partition by range (event_time);
      create table events_before partition of processed_events for values from (minvalue) to ('2000-01-01');
      create index on processed_events (processed_at)`);
    const cut = new Date(Date.now() - 20.5 * 3_600_000).toISOString();
    await database.pool.query(`
      create table events_old partition of processed_events for values from ('2000-01-01') to ('${cut}');
      create table events_new partition of processed_events for values from ('${cut}') to (maxvalue)`);
    await processed(3_000);
    await database.pool.query('vacuum analyze processed_events');
    // The parent has the sum in its own row of pg_class, too.
    expect((await estimateDedupRows(database.pool)).get('processed_events')).toBe(3_000);
    expect(Math.abs((await oldestProcessedEventAge(database.pool))! - 3_000 * 3_600)).toBeLessThan(60);
    const plan = await planOf('select min(processed_at) from processed_events');
    expect(plan).not.toMatch(/Seq Scan on events_(old|new)/);
  });
});

describe('the quarantine', () => {
  test('is counted by reason, and its age is that of the oldest which nobody has decided about', async () => {
    await quarantined('malformed', [10, 20, 5_000]);
    await quarantined('conflict', [30]);
    await decideAbout('quarantined_events', 'quarantined_at', 4_000);
    const { countByReason, oldestAge } = await openQuarantine(database.pool);
    expect(Object.fromEntries(countByReason)).toEqual({ malformed: 2, conflict: 1 });
    expect(Math.abs(oldestAge! - 30)).toBeLessThan(20);
  });

  test('is counted up to a bound only', async () => {
    await quarantined(
      'malformed',
      Array.from({ length: MAX_COUNTED + 5 }, (_, n) => n),
    );
    const { countByReason } = await openQuarantine(database.pool);
    expect(countByReason.get('malformed')).toBe(MAX_COUNTED);
  });

  test('that is empty has no age', async () => {
    expect(await openQuarantine(database.pool)).toEqual({ countByReason: new Map(), oldestAge: null });
  });
});

describe('the parked executions', () => {
  test('are counted, and their age is that of the oldest which nobody has decided about', async () => {
    await parked([10, 60, 5_000]);
    await decideAbout('parked_executions', 'parked_at', 4_000);
    const { count, oldestAge } = await openParked(database.pool);
    expect(count).toBe(2);
    expect(Math.abs(oldestAge! - 60)).toBeLessThan(20);
  });

  test('that are none have no age', async () => {
    expect(await openParked(database.pool)).toEqual({ count: 0, oldestAge: null });
  });
});
