import { randomUUID } from 'node:crypto';
import { applyExecutions } from '../src/db/apply-executions';
import { openOrder } from '../src/db/open-order';
import type { Pool } from '../src/db/pool';
import type { Execution, ExecutionType } from '../src/domain/execution';
import { anOpenOrder } from '../test/support/orders';
import { benchPool, migrateBench, withPostgres } from './support/bench-postgres';
import { spread, spreadText, table } from './support/load';
import { heading } from './support/rig';

/** What a fill and a bust cost on a position of many fills, by how far back the busted fill lies. */
const FILLS = 100_000;
const FILLS_AN_ORDER = 100;
const BATCH = 100;
const TRIES = 15;
const TRIES_FAR_BACK = 5;
const FAR_BACK = 10_000;
const BACK = [0, 1_000, 10_000, 50_000, 99_900] as const;

const ACCOUNT_ID = 'bench';

interface BenchOrder {
  readonly clientOrderId: string;
  readonly side: 'buy' | 'sell';
}

/** Opens an order; the long position alternates between buying and selling, so that it passes through flat again and again. */
async function open(pool: Pool, index: number, symbol: string): Promise<BenchOrder> {
  const side = index % 2 === 0 ? 'buy' : 'sell';
  const clientOrderId = `${symbol}-${index}`;
  const quantity = String(FILLS_AN_ORDER * FILLS_AN_ORDER);
  await openOrder(pool, anOpenOrder({ accountId: ACCOUNT_ID, clientOrderId, symbol, side, quantity }), {});
  return { clientOrderId, side };
}

function executionOf(
  order: BenchOrder,
  symbol: string,
  type: ExecutionType,
  more: Partial<Execution>,
): Execution {
  return {
    source: 'BENCH',
    type,
    executionId: randomUUID(),
    accountId: ACCOUNT_ID,
    clientOrderId: order.clientOrderId,
    symbol,
    side: order.side,
    executedAt: '2026-03-14T09:26:53Z',
    ...more,
  };
}

const fillOf = (order: BenchOrder, symbol: string, place: number): Execution =>
  executionOf(order, symbol, 'FILL', {
    executionId: `${symbol}-${place}`,
    quantity: String(1 + ((place * 31) % 97)),
    price: `1.${String((place * 17) % 1_000).padStart(3, '0')}`,
  });

async function apply(pool: Pool, executions: readonly Execution[]): Promise<number> {
  const [{ accountId, clientOrderId } = { accountId: '', clientOrderId: '' }] = executions;
  const startedAt = performance.now();
  await applyExecutions(pool, { accountId, clientOrderId, executions });
  return performance.now() - startedAt;
}

async function measure(tries: number, once: (attempt: number) => Promise<number>): Promise<string> {
  const times: number[] = [];
  for (let attempt = 0; attempt < tries; attempt += 1) times.push(await once(attempt));
  return spreadText(spread(times), 1);
}

async function buildPosition(pool: Pool, symbol: string): Promise<BenchOrder[]> {
  const orders: BenchOrder[] = [];
  for (let start = 0; start < FILLS; start += BATCH) {
    const order = await open(pool, start / FILLS_AN_ORDER, symbol);
    orders.push(order);
    await apply(
      pool,
      Array.from({ length: BATCH }, (_, index) => fillOf(order, symbol, start + index)),
    );
  }
  return orders;
}

async function measureAll(pool: Pool): Promise<string[][]> {
  const symbol = 'LONG';
  const orders = await buildPosition(pool, symbol);
  await pool.query('vacuum analyze');
  const rows: string[][] = [];
  const fresh = await open(pool, 0, 'NEW');
  rows.push([
    'a fill on a new position',
    await measure(TRIES, (n) => apply(pool, [fillOf(fresh, 'NEW', n)])),
  ]);
  const last = await open(pool, orders.length, symbol);
  rows.push([
    `a fill on a position of ${FILLS} fills`,
    await measure(TRIES, (n) => apply(pool, [fillOf(last, symbol, FILLS + n)])),
  ]);
  for (const back of BACK) {
    const cost = await measure(back > FAR_BACK ? TRIES_FAR_BACK : TRIES, (attempt) => {
      const place = FILLS - 1 - back - attempt;
      const order = orders[Math.floor(place / FILLS_AN_ORDER)];
      if (order === undefined) throw new Error(`there is no fill at ${place}`);
      const bust = executionOf(order, symbol, 'BUST', { refExecutionId: `${symbol}-${place}` });
      return apply(pool, [bust]);
    });
    rows.push([`a bust of a fill about ${back} back`, cost]);
  }
  return rows;
}

async function main(): Promise<void> {
  await withPostgres(async (url) => {
    await migrateBench(url);
    const pool = benchPool(url, 2);
    const rows = await measureAll(pool);
    await pool.end();
    console.log(`${heading('npm run bench:positions')} Median (min–max).\n`);
    console.log(table(['execution', 'ms'], rows));
  });
}

void main();
