import { createHash, randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { applyExecutions } from '../src/db/apply-executions';
import { DAYS_AHEAD } from '../src/db/dedup-partitions';
import { openOrder } from '../src/db/open-order';
import { partitionProcessedEvents } from '../src/db/partition-processed-events';
import type { Pool } from '../src/db/pool';
import { findSettled } from '../src/db/settled-events';
import { anExecutionOf, anOpenOrder } from '../test/support/orders';
import { benchPool, databaseAt, migrateBench, withPostgres } from './support/bench-postgres';
import { load, spread, spreadText, table } from './support/load';
import { insertEvents, partitionByDay } from './support/partitioned';
import { heading } from './support/rig';
import { startSteadyFills } from './support/steady-fills';

/** What the partitioned layout costs, and what converting to it makes fills wait, with a month of dedup rows. */
const { values: given } = parseArgs({
  options: { rows: { type: 'string', default: '10000000' }, calls: { type: 'string', default: '500' } },
});
const ROWS = Number(given.rows);
const CALLS = Number(given.calls);
const DAYS = 30;
const TRIES = 5;
const LOOKED_UP = 100;
const FILLS = { batchesPerSecond: 50, fillsPerBatch: 4 };

async function openDatabase(url: string, name: string): Promise<Pool> {
  const server = benchPool(url, 1);
  await server.query(`create database ${name}`);
  await server.end();
  await migrateBench(databaseAt(url, name));
  return benchPool(databaseAt(url, name), 16);
}

/** One caller, so that the figure is the cost of the call and not of the contention. */
async function measureCalls(pool: Pool, fillsPerBatch: number): Promise<number> {
  const order = anOpenOrder({ quantity: '1000000000' });
  await openOrder(pool, order, {});
  const { accountId, clientOrderId } = order.request;
  const executedAt = new Date().toISOString();
  const { p50Ms } = await load(1, CALLS, async () => {
    const executions = Array.from({ length: fillsPerBatch }, () =>
      anExecutionOf(order, 'FILL', { executedAt }),
    );
    await applyExecutions(pool, { accountId, clientOrderId, executions });
  });
  return p50Ms;
}

/** As the bridge looks, before it tells Temporal. */
async function measureLook(pool: Pool): Promise<number> {
  const executedAt = new Date().toISOString();
  const { p50Ms } = await load(1, CALLS, async () => {
    await findSettled(
      pool,
      Array.from({ length: LOOKED_UP }, () => ({
        execution: { source: 'VENUE-1', type: 'FILL' as const, executionId: randomUUID(), executedAt },
        contentHash: createHash('sha256').update(randomUUID()).digest('hex'),
      })),
    );
  });
  return p50Ms;
}

/** In turns, so that whatever else the machine does meets both. */
async function compareCosts(pools: Readonly<Record<string, Pool>>): Promise<void> {
  const measures: readonly (readonly [string, (pool: Pool) => Promise<number>])[] = [
    ['book one fill', (pool) => measureCalls(pool, 1)],
    ['book a batch of 10', (pool) => measureCalls(pool, 10)],
    [`look for ${LOOKED_UP} new events`, measureLook],
  ];
  const rows: string[][] = [];
  for (const [name, measure] of measures) {
    const figures = new Map<string, number[]>(Object.keys(pools).map((layout) => [layout, []]));
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      for (const [layout, pool] of Object.entries(pools)) figures.get(layout)?.push(await measure(pool));
    }
    rows.push([name, ...[...figures.values()].map((values) => spreadText(spread(values), 2))]);
  }
  console.log(`${table(['p50, ms', ...Object.keys(pools)], rows)}\n`);
}

async function convert(pool: Pool): Promise<void> {
  const fills = await startSteadyFills(pool, FILLS);
  await fills.window(5);
  const quiet = await fills.window(10);
  const startedAt = performance.now();
  const steps: [string, number][] = [];
  let tookMs = 0;
  const converting = partitionProcessedEvents(pool, {
    onStep: (step) => steps.push([step, performance.now() - startedAt]),
  }).then(() => (tookMs = performance.now() - startedAt));
  const during: number[] = [];
  const over = converting.then(() => 'over' as const);
  for (let state = ''; state !== 'over';) {
    const window = fills.window(1);
    state = await Promise.race([over, window.then(() => 'running')]);
    during.push(...(await window));
  }
  during.push(...(await fills.window(1)));
  await fills.stop();
  for (const [step, atMs] of steps) console.log(`- ${(atMs / 1_000).toFixed(1)} s: ${step}`);
  console.log(
    `- converted between ${((steps.at(-1)?.[1] ?? 0) / 1_000).toFixed(1)} s and ${(tookMs / 1_000).toFixed(1)} s; ` +
      `the slowest of ${during.length} batches of fills took ${Math.max(...during).toFixed(0)} ms, before ${Math.max(...quiet).toFixed(0)} ms`,
  );
}

async function main(): Promise<void> {
  await withPostgres(async (url) => {
    const standard = await openDatabase(url, 'standard');
    const partitioned = await openDatabase(url, 'partitioned');
    await partitionByDay(partitioned, DAYS, DAYS_AHEAD);
    for (const pool of [standard, partitioned]) {
      await insertEvents(pool, ROWS, DAYS);
      await pool.query('vacuum analyze processed_events');
    }
    console.log(
      `${heading('npm run bench:layouts')} ${ROWS} dedup rows of ${DAYS} days, ${DAYS + DAYS_AHEAD + 2} partitions.\n`,
    );
    await compareCosts({ standard, partitioned });
    await convert(standard);
    await standard.end();
    await partitioned.end();
  });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
