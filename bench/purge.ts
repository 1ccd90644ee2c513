import { parseArgs } from 'node:util';
import { loadConfig } from '../src/config';
import { DAYS_AHEAD } from '../src/db/dedup-partitions';
import type { Pool } from '../src/db/pool';
import { noProgress, runPurge } from '../src/db/purge-run';
import { openPurgeSession } from '../src/db/purge-session';
import { PURGE_SESSION, purgePlan } from '../src/services/maintenance';
import { benchPool, databaseAt, migrateBench, withPostgres } from './support/bench-postgres';
import { spread, spreadText, table } from './support/load';
import { insertEvents, partitionByDay } from './support/partitioned';
import { heading } from './support/rig';
import { startSteadyFills, type SteadyFills } from './support/steady-fills';

/**
 * Half of the dedup rows are past the window and end while fills are booked at a steady rate: by the product's batches,
 * by one single DELETE, and, with --partitioned, by dropping days. Each way gets the same rows on a database of its own.
 */
const { values: given } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000000' },
    'window-seconds': { type: 'string', default: '5' },
    'batches-per-second': { type: 'string', default: '50' },
    partitioned: { type: 'boolean', default: false },
  },
});
const ROWS = Number(given.rows);
const WINDOW_SECONDS = Number(given['window-seconds']);
const LOAD = { batchesPerSecond: Number(given['batches-per-second']), fillsPerBatch: 4 };
const WINDOWS_BEFORE = 7;
const DAYS = 60;

const config = loadConfig({
  DATABASE_URL: 'postgres://unused',
  TEMPORAL_ADDRESS: 'unused:1',
  KAFKA_BROKERS: 'unused:1',
});
const plan = purgePlan(config);

type Layout = 'standard' | 'partitioned';

interface Way {
  readonly name: string;
  readonly layout: Layout;
  readonly end: (pool: Pool) => Promise<void>;
}

const WAYS: readonly Way[] = [
  { name: 'batches, as the cleanup does', layout: 'standard', end: endByCleanup },
  { name: 'one single DELETE', layout: 'standard', end: endByOneDelete },
  ...(given.partitioned
    ? [{ name: 'dropping days, as the cleanup does', layout: 'partitioned' as const, end: endByCleanup }]
    : []),
];

async function endByCleanup(pool: Pool): Promise<void> {
  const opened = await openPurgeSession(pool, 'bench', PURGE_SESSION);
  if (!('session' in opened)) throw new Error('somebody else holds the purge');
  try {
    // Several runs, one after the other, when there is more than one run may do.
    for (;;) {
      const { tables } = await runPurge(opened.session, plan, noProgress(plan), {
        onBatch: () => undefined,
        pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      });
      if (tables.every(({ done }) => done)) return;
    }
  } finally {
    opened.session.close();
  }
}

async function endByOneDelete(pool: Pool): Promise<void> {
  await pool.query(
    "delete from processed_events where processed_at < now() - $1::bigint * interval '1 millisecond'",
    [plan.windowMs.processed_events],
  );
}

function poolOf(url: string, database: string): Pool {
  return benchPool(databaseAt(url, database), 16);
}

/** The rows of sixty days, in the order in which they would have come; half of them are past the window. */
async function makeBase(url: string, layout: Layout): Promise<string> {
  const database = `base_${layout}`;
  const server = poolOf(url, 'postgres');
  await server.query(`create database ${database}`);
  await server.end();
  const pool = poolOf(url, database);
  await migrateBench(databaseAt(url, database));
  if (layout === 'partitioned') await partitionByDay(pool, DAYS, DAYS_AHEAD);
  await insertEvents(pool, ROWS, DAYS);
  await pool.query('vacuum analyze processed_events');
  await pool.query('checkpoint');
  await pool.end();
  return database;
}

interface Sizes {
  readonly table: number;
  readonly indexes: number;
  readonly rows: number;
  readonly deadlocks: number;
}

async function measure(pool: Pool): Promise<Sizes> {
  const { rows } = await pool.query<Sizes>(
    // Of a table without partitions the tree is empty.
    `select coalesce(sum(pg_table_size(relid)), pg_table_size('processed_events'))::float8 as "table",
            coalesce(sum(pg_indexes_size(relid)), pg_indexes_size('processed_events'))::float8 as "indexes",
            (select count(*) from processed_events where source like 'VENUE-%')::float8 as "rows",
            (select deadlocks from pg_stat_database where datname = current_database())::float8 as "deadlocks"
     from pg_partition_tree('processed_events') where isleaf`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('a select of one row gives one row');
  return row;
}

function p99(latenciesMs: readonly number[]): number {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0;
}

/** Windows for as long as the work takes; one that the end cuts short counts only if it is the only one. */
async function windowsDuring(fills: SteadyFills, work: Promise<unknown>): Promise<number[]> {
  const figures: number[] = [];
  const over = work.then(() => 'over' as const);
  for (;;) {
    const window = fills.window(WINDOW_SECONDS).then(p99);
    const first = await Promise.race([over, window]);
    if (first === 'over' && figures.length > 0) return figures;
    figures.push(await window);
    if (first === 'over') return figures;
  }
}

async function run(url: string, base: string, { name, end }: Way): Promise<string[]> {
  const database = `run_${Date.now()}`;
  const server = poolOf(url, 'postgres');
  await server.query(`create database ${database} template ${base}`);
  const pool = poolOf(url, database);
  const before = await measure(pool);
  const fills = await startSteadyFills(pool, LOAD);
  await fills.window(WINDOW_SECONDS);
  const quiet: number[] = [];
  for (let window = 0; window < WINDOWS_BEFORE; window += 1)
    quiet.push(p99(await fills.window(WINDOW_SECONDS)));
  const startedAt = performance.now();
  const ended = end(pool).then(() => (performance.now() - startedAt) / 1_000);
  const busy = await windowsDuring(fills, ended);
  const seconds = await ended;
  await fills.stop();
  const after = await measure(pool);
  await pool.end();
  await server.query(`drop database ${database} with (force)`);
  await server.end();
  const gone = before.rows - after.rows;
  const ratios = busy.map((figure) => figure / spread(quiet).median);
  const sizes = (part: 'table' | 'indexes'): string =>
    `${Math.round(before[part] / 2 ** 20)} → ${Math.round(after[part] / 2 ** 20)}`;
  return [
    name,
    `${gone} in ${seconds.toFixed(1)} s`,
    (gone / seconds).toFixed(0),
    spreadText(spread(quiet), 1),
    spreadText(spread(busy), 1),
    spreadText(spread(ratios), 2),
    `${after.deadlocks - before.deadlocks}`,
    `${fills.leftOut()}`,
    sizes('table'),
    sizes('indexes'),
  ];
}

async function main(): Promise<void> {
  const fillsPerSecond = LOAD.batchesPerSecond * LOAD.fillsPerBatch;
  console.log(
    `${heading('npm run bench:purge')} ${ROWS} rows, half of them past the window; ${fillsPerSecond} fills a second in ` +
      `batches of ${LOAD.fillsPerBatch}; windows of ${WINDOW_SECONDS} s. Median (min–max) of the windows.\n`,
  );
  await withPostgres(compare);
}

async function compare(url: string): Promise<void> {
  const rows: string[][] = [];
  const bases = new Map<Layout, string>();
  for (const way of WAYS) {
    const base = bases.get(way.layout) ?? (await makeBase(url, way.layout));
    bases.set(way.layout, base);
    rows.push(await run(url, base, way));
  }
  const head = [
    ...['way', 'rows gone', 'rows a second', 'p99 before, ms', 'p99 during, ms', 'ratio'],
    ...['deadlocks', 'batches left out', 'table, MiB', 'indexes, MiB'],
  ];
  console.log(table(head, rows));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
