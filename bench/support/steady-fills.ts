import { randomUUID } from 'node:crypto';
import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import type { Pool } from '../../src/db/pool';
import type { Execution } from '../../src/domain/execution';
import { anOpenOrder } from '../../test/support/orders';

const ORDERS = 100;
const SYMBOLS = 25;
const ACCOUNT_ID = 'bench';
/** More than that at once means that the database does not keep up; the figures then say so. */
const MAX_IN_FLIGHT = 64;

export interface FillLoad {
  readonly batchesPerSecond: number;
  readonly fillsPerBatch: number;
}

/** Fills that arrive at a steady rate, whether or not the ones before are booked. */
export interface SteadyFills {
  /** The latencies of one window, ms, each from when its batch was due. */
  readonly window: (seconds: number) => Promise<readonly number[]>;
  /** Batches that were left out because too many were under way. */
  readonly leftOut: () => number;
  readonly stop: () => Promise<void>;
}

export async function startSteadyFills(pool: Pool, load: FillLoad): Promise<SteadyFills> {
  const orders = await openOrders(pool);
  const intervalMs = 1_000 / load.batchesPerSecond;
  const inFlight = new Set<Promise<void>>();
  let latenciesMs: number[] = [];
  let leftOut = 0;
  let next = 0;
  let failure: unknown;
  const startedAt = performance.now();
  const book = async (dueAt: number, order: string): Promise<void> => {
    const executions = Array.from({ length: load.fillsPerBatch }, () => aFillOf(order));
    await applyExecutions(pool, { accountId: ACCOUNT_ID, clientOrderId: order, executions });
    latenciesMs.push(performance.now() - dueAt);
  };
  const timer = setInterval(() => {
    for (; startedAt + next * intervalMs <= performance.now(); next += 1) {
      if (inFlight.size >= MAX_IN_FLIGHT) {
        leftOut += 1;
        continue;
      }
      const booking = book(startedAt + next * intervalMs, orders[next % ORDERS] ?? '').catch(
        (error: unknown) => (failure ??= error),
      ) as Promise<void>;
      inFlight.add(booking);
      void booking.then(() => inFlight.delete(booking));
    }
  }, 1);
  return {
    window: async (seconds) => {
      latenciesMs = [];
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
      if (failure !== undefined) throw new Error('a fill could not be booked', { cause: failure });
      return latenciesMs;
    },
    leftOut: () => leftOut,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(inFlight);
    },
  };
}

const symbolOf = (order: string): string => `S${Number(order) % SYMBOLS}`;

async function openOrders(pool: Pool): Promise<string[]> {
  const names = Array.from({ length: ORDERS }, (_, index) => String(index));
  for (const clientOrderId of names) {
    const quantity = '1000000000';
    const symbol = symbolOf(clientOrderId);
    await openOrder(pool, anOpenOrder({ accountId: ACCOUNT_ID, clientOrderId, symbol, quantity }), {});
  }
  return names;
}

function aFillOf(order: string): Execution {
  return {
    source: 'BENCH',
    type: 'FILL',
    executionId: randomUUID(),
    accountId: ACCOUNT_ID,
    clientOrderId: order,
    symbol: symbolOf(order),
    side: 'buy',
    quantity: '1',
    price: '1.0845',
    executedAt: new Date().toISOString(),
  };
}
