import type { ExecutionBatch } from '../contracts/execution-batch';
import { executionIdentityText, type Execution } from '../domain/execution';
import { orderWorkflowId, type OrderKey } from '../domain/ids';

/** Pure decisions about a slice of the topic: what is a repeat, what goes to whom, when to try again. */

/** An execution with its place in the partition. */
export interface PlacedExecution {
  /** 64-bit, hence text. */
  readonly offset: string;
  readonly execution: Execution;
  readonly contentHash: string;
}

/** What goes to one order: signals in order, each with executions in order. */
export interface OrderDelivery {
  readonly key: OrderKey;
  readonly signals: readonly (readonly PlacedExecution[])[];
}

export const MAX_EXECUTIONS_PER_SIGNAL = 100;
/** Temporal warns about payloads above 512 KB and refuses them above 2 MB. */
export const MAX_SIGNAL_BYTES = 262_144;

/**
 * Tells repeats (same identity, same content) from the rest. A known identity with other content is not a repeat the
 * first time: it goes on, and the transaction that meets it puts it aside.
 *
 * @param settled those that were processed or set aside before, as PostgreSQL has them
 */
export function sortOutRepeats(
  executions: readonly PlacedExecution[],
  settled: ReadonlySet<PlacedExecution>,
): { readonly repeats: PlacedExecution[]; readonly fresh: PlacedExecution[] } {
  const seen = new Set<string>();
  const repeats: PlacedExecution[] = [];
  const fresh: PlacedExecution[] = [];
  for (const placed of executions) {
    const isRepeat = settled.has(placed) || seen.has(contentText(placed));
    (isRepeat ? repeats : fresh).push(placed);
    if (!isRepeat) seen.add(contentText(placed));
  }
  return { repeats, fresh };
}

function contentText({ execution, contentHash }: PlacedExecution): string {
  return contentHash + executionIdentityText(execution);
}

/** One delivery per order, in the order of their first executions; within an order nothing changes places. */
export function orderDeliveries(executions: readonly PlacedExecution[]): OrderDelivery[] {
  const byOrder = new Map<string, PlacedExecution[]>();
  for (const placed of executions) {
    const order = orderWorkflowId(placed.execution);
    const group = byOrder.get(order);
    if (group === undefined) byOrder.set(order, [placed]);
    else group.push(placed);
  }
  return [...byOrder.values()].map((group) => ({ key: keyOf(group), signals: signalsOf(group) }));
}

/** The message that hands one signal over. */
export function executionBatchOf(key: OrderKey, signal: readonly PlacedExecution[]): ExecutionBatch {
  return { key, executions: signal.map(({ execution }) => execution) };
}

/** Doubles from `MIN_BACKOFF_MS` with each failed attempt, up to a bound. The first attempt is number 0. */
export function backoffMs(attempt: number, maxBackoffMs: number): number {
  return Math.min(maxBackoffMs, MIN_BACKOFF_MS * 2 ** Math.min(attempt, MAX_DOUBLINGS));
}

const MIN_BACKOFF_MS = 200;
const MAX_DOUBLINGS = 20;

function keyOf([first]: readonly PlacedExecution[]): OrderKey {
  if (first === undefined) throw new Error('a group of executions is never empty');
  return { accountId: first.execution.accountId, clientOrderId: first.execution.clientOrderId };
}

function signalsOf(group: readonly PlacedExecution[]): PlacedExecution[][] {
  const signals: PlacedExecution[][] = [];
  let signal: PlacedExecution[] = [];
  let bytes = 0;
  for (const placed of group) {
    const size = Buffer.byteLength(JSON.stringify(placed.execution));
    if (
      signal.length === MAX_EXECUTIONS_PER_SIGNAL ||
      (signal.length > 0 && bytes + size > MAX_SIGNAL_BYTES)
    ) {
      signals.push(signal);
      signal = [];
      bytes = 0;
    }
    signal.push(placed);
    bytes += size;
  }
  signals.push(signal);
  return signals;
}
