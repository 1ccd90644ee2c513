import { createHash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import type { KafkaMessage } from 'kafkajs';
import type { ExecutionBatch } from '../contracts/execution-batch';
import type { MalformedMessage } from '../db/quarantine';
import { orderWorkflowId, parseOrderWorkflowId } from '../domain/ids';
import type { Metrics } from '../observability/metrics';
import type { DeadLetter } from './dead-letter';
import {
  executionBatchOf,
  orderDeliveries,
  sortOutRepeats,
  type OrderDelivery,
  type PlacedExecution,
} from './execution-batch';
import type { Limiter } from './limiter';
import { MAX_EVENT_BYTES, parseExecution, type MalformedExecution } from './parse-execution';

/** What the consumer asks of the other rooms; the composition root connects them. */
export interface ExecutionPorts {
  /** Those that were processed or set aside before, with this very content. */
  readonly findSettled: (executions: readonly PlacedExecution[]) => Promise<ReadonlySet<PlacedExecution>>;
  /** Resolves only when Temporal has accepted. */
  readonly deliver: (batch: ExecutionBatch) => Promise<'order' | 'late'>;
  readonly quarantine: (messages: readonly MalformedMessage[]) => Promise<void>;
  readonly publishDeadLetters: (letters: readonly DeadLetter[]) => Promise<void>;
  /** Which server did not answer; undefined when the error is something else, which waiting does not cure. */
  readonly unansweredBy: (error: unknown) => Server | undefined;
}

export type Server = 'postgresql' | 'temporal' | 'kafka';

/** Some messages of one partition, in order. */
export interface Slice {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly KafkaMessage[];
  /** Offsets that are done. Grows while the slice is processed, also when that ends with an error. */
  readonly done: Set<string>;
  /** Orders (by workflow id) that failed or are slow. Nothing is delivered to them, and the others go on; grows. */
  readonly held: Map<string, HeldOrder>;
}

/** Why an order waits: what its delivery threw, or that it takes too long. */
export interface HeldOrder {
  readonly server: Server;
  readonly error?: unknown;
}

export interface SliceControl {
  readonly metrics: Metrics;
  /** Shared by all partitions. */
  readonly limiter: Limiter;
  /** So many orders may be held before the rest of the slice is left for later: then it is not the orders. */
  readonly maxHeldOrders: number;
  /** An order that has taken so long in one slice is slow, and is held after its current signal. */
  readonly slowOrderMs: number;
  /** False once the partition is no longer ours to work on. */
  readonly mayContinue: () => boolean;
  /** Throws when the group rebalances. */
  readonly heartbeat: () => Promise<void>;
}

/**
 * Takes a slice through: malformed messages are put aside, repeats are dropped, the rest goes to Temporal, order by
 * order; an order that fails is held and the others go on. Whatever is not in `done` afterwards has to be processed
 * again.
 * @throws what a server or the group threw; `done` stays true.
 */
export async function processSlice(
  slice: Slice,
  ports: ExecutionPorts,
  control: SliceControl,
): Promise<void> {
  const { executions, malformed } = parseOpen(slice);
  await putAside(slice, malformed, ports, control.metrics);
  await control.heartbeat();
  if (executions.length === 0 || !control.mayContinue()) return;
  const settled = await ports.findSettled(executions);
  await control.heartbeat();
  const { repeats, fresh } = sortOutRepeats(executions, settled);
  settleRepeats(slice, repeats, control.metrics);
  await deliverAll(slice, orderDeliveries(fresh), ports, control);
}

type Verdict = 'delivered' | 'malformed';

/** Counted once: a message that is done is not looked at again while this consumer holds the partition. */
function settle(slice: Slice, offset: string, verdict: Verdict, metrics: Metrics): void {
  slice.done.add(offset);
  metrics.bridgeMessages.inc({ verdict });
}

/** Counted together: when a topic is read again nearly every message is one of these. */
function settleRepeats(slice: Slice, repeats: readonly PlacedExecution[], metrics: Metrics): void {
  const counts = new Map<string, { source: string; type: string; count: number }>();
  for (const { offset, execution } of repeats) {
    slice.done.add(offset);
    const { source, type } = execution;
    const entry = counts.get(`${type} ${source}`);
    if (entry === undefined) counts.set(`${type} ${source}`, { source, type, count: 1 });
    else entry.count += 1;
  }
  if (repeats.length > 0) metrics.bridgeMessages.inc({ verdict: 'duplicate' }, repeats.length);
  for (const { source, type, count } of counts.values()) {
    metrics.duplicateExecutions.inc({ source, type }, count);
  }
}

interface MalformedPlace {
  readonly message: KafkaMessage;
  readonly parsed: MalformedExecution;
}

function parseOpen(slice: Slice): { executions: PlacedExecution[]; malformed: MalformedPlace[] } {
  const executions: PlacedExecution[] = [];
  const malformed: MalformedPlace[] = [];
  for (const message of slice.messages) {
    if (slice.done.has(message.offset)) continue;
    const parsed = parseExecution(message);
    if (parsed.kind === 'malformed') malformed.push({ message, parsed });
    else {
      const { execution, contentHash } = parsed;
      executions.push({ offset: message.offset, execution, contentHash });
    }
  }
  return { executions, malformed };
}

/** First the topic, then the row: a row says that the message is in both. */
async function putAside(
  slice: Slice,
  malformed: readonly MalformedPlace[],
  ports: ExecutionPorts,
  metrics: Metrics,
): Promise<void> {
  if (malformed.length === 0) return;
  await ports.publishDeadLetters(malformed.map((place) => deadLetterOf(slice, place)));
  await ports.quarantine(malformed.map((place) => malformedMessageOf(slice, place)));
  for (const { message } of malformed) {
    settle(slice, message.offset, 'malformed', metrics);
    metrics.quarantinedEvents.inc({ reason: 'malformed' });
  }
}

function deadLetterOf({ topic, partition }: Slice, { message, parsed }: MalformedPlace): DeadLetter {
  const { key, value, offset, headers = {} } = message;
  return { key, value, headers, reason: parsed.fault, topic, partition, offset };
}

function malformedMessageOf(
  { topic, partition }: Slice,
  { message: { key, value, offset }, parsed }: MalformedPlace,
): MalformedMessage {
  return {
    reason: 'malformed',
    detail: parsed.fault,
    payload: payloadText(value?.subarray(0, MAX_EVENT_BYTES) ?? Buffer.alloc(0)),
    contentHash: messageHash(key, value),
    // A tombstone says by its key alone whose it is.
    fields: { ...parseOrderWorkflowId(key?.toString('utf8') ?? ''), ...parsed.fields },
    origin: { topic, partition, offset },
  };
}

/** Of key and value, so that one value under two keys, or no value under two keys, is two findings. */
function messageHash(key: Buffer | null, value: Buffer | null): string {
  const hash = createHash('sha256');
  for (const part of [key, value]) {
    hash.update(part === null ? 'absent;' : `${part.length};`).update(part ?? '');
  }
  return hash.digest('hex');
}

function payloadText(value: Buffer): string {
  const isText = isUtf8(value) && !value.includes(0);
  return isText ? value.toString('utf8') : `base64:${value.toString('base64')}`;
}

async function deliverAll(
  slice: Slice,
  deliveries: readonly OrderDelivery[],
  ports: ExecutionPorts,
  control: SliceControl,
): Promise<void> {
  const { held } = slice;
  const faults: unknown[] = [];
  const deliver = async (delivery: OrderDelivery): Promise<void> => {
    const order = orderWorkflowId(delivery.key);
    if (faults.length > 0 || held.has(order) || held.size >= control.maxHeldOrders) return;
    try {
      const isSlow = await deliverOrder(slice, delivery, ports, control);
      if (isSlow) held.set(order, { server: 'temporal' });
    } catch (error) {
      const server = ports.unansweredBy(error);
      if (server === undefined) faults.push(error);
      else held.set(order, { server, error });
    }
  };
  await Promise.all(deliveries.map((delivery) => control.limiter(() => deliver(delivery))));
  // Only now, when nothing of the slice is under way any more, may the partition be let go of.
  for (const fault of faults) throw fault;
}

/**
 * Strictly one signal after the other: a later one must not overtake an earlier one that failed.
 * @returns true when the order took too long and the rest of it waits.
 */
async function deliverOrder(
  slice: Slice,
  { key, signals }: OrderDelivery,
  ports: ExecutionPorts,
  control: SliceControl,
): Promise<boolean> {
  const slowAt = performance.now() + control.slowOrderMs;
  for (const signal of signals) {
    if (!control.mayContinue()) return false;
    if (performance.now() > slowAt) return true;
    const target = await ports.deliver(executionBatchOf(key, signal));
    control.metrics.bridgeSignals.inc({ target });
    for (const { offset } of signal) settle(slice, offset, 'delivered', control.metrics);
    await control.heartbeat();
  }
  return false;
}
