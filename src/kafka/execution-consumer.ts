import {
  KafkaJSError,
  type Admin,
  type Batch,
  type Consumer,
  type EachBatchPayload,
  type Kafka,
  type KafkaMessage,
} from 'kafkajs';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import { Assignment } from './assignment';
import { CLIENT_RETRY } from './client';
import { committedOffsets } from './committed-offsets';
import { processSlice, type ExecutionPorts, type Server } from './execution-slice';
import { createLimiter, type Limiter } from './limiter';
import type { PartitionState } from './partition-state';

export interface ExecutionConsumerOptions {
  readonly topic: string;
  readonly groupId: string;
  /** Orders to which signals are under way at the same time, over all partitions. */
  readonly parallelOrders: number;
  /** The longest pause between two attempts while a server does not answer. */
  readonly maxBackoffMs: number;
  /** Called once when the consumer cannot go on; the process has to end. */
  readonly onFatal: (error: unknown) => void;
}

/** Messages that are processed, resolved and committed together. */
const SLICE_MESSAGES = 1_000;
const PARALLEL_PARTITIONS = 4;

/**
 * An order holds its neighbours up for so long and for the deadline of one delivery; then they go on without it. Far
 * above what a hundred executions take on a server that is well.
 */
const SLOW_ORDER_MS = 2_000;
/**
 * How far a partition is read ahead of an order that is held. All of it is read again after a restart, as repeats, and
 * gone over again with each retry; behind it the partition waits for the order.
 */
const MAX_READ_AHEAD_OFFSETS = 50_000;

/**
 * Every call of a slice ends within eight seconds by its own deadlines, and heartbeats are sent between calls. It is
 * also how long the partitions of a member that was killed stay without a reader.
 */
const SESSION_TIMEOUT_MS = 15_000;
const REBALANCE_TIMEOUT_MS = 60_000;
const HEARTBEAT_INTERVAL_MS = 3_000;
/** Bounds how long a paused partition waits for its next fetch, and how long a stop waits for a fetch. */
const MAX_FETCH_WAIT_MS = 1_000;
/** How long a raised partition count stays unseen. */
const METADATA_MAX_AGE_MS = 30_000;

/**
 * Reads the topic `executions` and hands every execution to the run of its order. An offset is committed only when
 * everything before it was accepted by Temporal, dropped as a repeat or put aside; so a crash anywhere leads to
 * repeats and never to a loss. When a server does not answer, the partition pauses; when an order fails or is slow, the
 * partition is read on without it. In both cases it is then read again from the first message that is not done.
 */
export class ExecutionConsumer {
  readonly #consumer: Consumer;
  readonly #admin: Admin;
  readonly #ports: ExecutionPorts;
  readonly #options: ExecutionConsumerOptions;
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  readonly #limiter: Limiter;
  readonly #assignment: Assignment;
  #lastHeartbeatAt: number | undefined;

  constructor(
    kafka: Kafka,
    ports: ExecutionPorts,
    options: ExecutionConsumerOptions,
    metrics: Metrics,
    logger: Logger,
  ) {
    this.#ports = ports;
    this.#options = options;
    this.#metrics = metrics;
    this.#logger = logger;
    this.#limiter = createLimiter(options.parallelOrders);
    this.#consumer = kafka.consumer({
      groupId: options.groupId,
      sessionTimeout: SESSION_TIMEOUT_MS,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_INTERVAL_MS,
      maxWaitTimeInMs: MAX_FETCH_WAIT_MS,
      metadataMaxAge: METADATA_MAX_AGE_MS,
      allowAutoTopicCreation: false,
      retry: { ...CLIENT_RETRY, restartOnFailure: () => Promise.resolve(true) },
    });
    this.#admin = kafka.admin();
    const { topic, groupId } = options;
    this.#assignment = new Assignment(
      () => committedOffsets(this.#admin, topic, groupId),
      (partition, offset) => {
        this.#consumer.seek({ topic, partition, offset });
      },
      logger,
    );
    this.#listen();
  }

  /** Resolves when the group has been joined. */
  async start(): Promise<void> {
    await Promise.all([this.#consumer.connect(), this.#admin.connect()]);
    // From the beginning also when an offset is out of range: reading again is harmless, skipping is not.
    await this.#consumer.subscribe({ topics: [this.#options.topic], fromBeginning: true });
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: PARALLEL_PARTITIONS,
      eachBatch: (payload) => this.#eachBatch(payload),
    });
  }

  /** Finishes what is under way, commits it and leaves the group. */
  async stop(): Promise<void> {
    await this.#consumer.disconnect();
    await this.#admin.disconnect();
    this.#lastHeartbeatAt = undefined;
  }

  /** @throws {Error} when this member is not a living part of its group. */
  check(): Promise<void> {
    const silenceMs = performance.now() - (this.#lastHeartbeatAt ?? -Infinity);
    if (silenceMs <= SESSION_TIMEOUT_MS) return Promise.resolve();
    return Promise.reject(new Error(`group ${this.#options.groupId} has not been joined or was lost`));
  }

  #listen(): void {
    const { GROUP_JOIN, HEARTBEAT, STOP, CRASH } = this.#consumer.events;
    const alive = (): void => {
      this.#lastHeartbeatAt = performance.now();
    };
    this.#consumer.on(HEARTBEAT, () => {
      alive();
      void this.#assignment.lookForNewTopic();
    });
    this.#consumer.on(GROUP_JOIN, ({ payload }) => {
      alive();
      this.#assignment.begin(payload.memberAssignment[this.#options.topic] ?? []);
      void this.#assignment.lookForNewTopic();
      this.#logger.info({ assignment: payload.memberAssignment }, 'joined the group');
    });
    this.#consumer.on(STOP, () => {
      this.#assignment.end();
    });
    this.#consumer.on(CRASH, ({ payload }) => {
      this.#lastHeartbeatAt = undefined;
      if (payload.restart) this.#logger.warn({ err: payload.error }, 'the consumer restarts');
      else this.#options.onFatal(payload.error);
    });
  }

  async #eachBatch(payload: EachBatchPayload): Promise<void> {
    const endTimer = this.#metrics.bridgeBatchSeconds.startTimer();
    try {
      await this.#processBatch(payload);
    } catch (error) {
      // A rebalance or a lost connection is the library's to handle. Anything else would make it stop in silence.
      if (!(error instanceof KafkaJSError)) this.#options.onFatal(error);
      throw error;
    } finally {
      endTimer();
    }
  }

  async #processBatch(payload: EachBatchPayload): Promise<void> {
    const { partition, messages } = payload.batch;
    const state = this.#assignment.stateOf(partition);
    if (await this.#assignment.startsElsewhere(state, payload.batch)) return;
    for (let start = 0; start < messages.length; start += SLICE_MESSAGES) {
      // Of a membership that has ended nothing new is begun.
      if (!isOurs(payload) || !this.#assignment.isCurrent(partition, state)) return;
      const slice = messages.slice(start, start + SLICE_MESSAGES);
      const goesOn = await this.#processSlice(payload, slice, state);
      if (!goesOn) return;
    }
  }

  /** False when the rest of the batch has to wait. */
  async #processSlice(
    payload: EachBatchPayload,
    messages: EachBatchPayload['batch']['messages'],
    state: PartitionState,
  ): Promise<boolean> {
    const { topic, partition } = payload.batch;
    const { progress, held, round } = state;
    const mayContinue = (): boolean => isOurs(payload) && state.round === round;
    progress.startAt(messages[0]?.offset ?? '0');
    const done = new Set(messages.map(({ offset }) => offset).filter((offset) => progress.isDone(offset)));
    let unanswered: Server | undefined;
    try {
      await processSlice({ topic, partition, messages, done, held }, this.#ports, {
        metrics: this.#metrics,
        limiter: this.#limiter,
        maxHeldOrders: this.#options.parallelOrders,
        slowOrderMs: SLOW_ORDER_MS,
        mayContinue,
        heartbeat: () => payload.heartbeat(),
      });
    } catch (error) {
      unanswered = this.#ports.unansweredBy(error);
      if (unanswered === undefined) throw error;
      this.#logger.warn({ err: error, topic, partition, server: unanswered }, 'a server did not answer');
    } finally {
      progress.record(messages, done);
    }
    // The membership may have ended, or the partition is to be read again: then what is done is done, and no more.
    if (payload.isStale() || state.round !== round) return false;
    const pauses = this.#retryLater(payload, state, unanswered);
    await this.#commit(payload, messages, state);
    return !pauses;
  }

  /** Moves the offset over what is done, and the reading over the whole slice: what is open is read again later. */
  async #commit(
    payload: EachBatchPayload,
    messages: EachBatchPayload['batch']['messages'],
    state: PartitionState,
  ): Promise<void> {
    const { topic, partition } = payload.batch;
    const last = messages.at(-1);
    if (last === undefined) return;
    payload.resolveOffset(last.offset);
    const offset = state.progress.firstOpen ?? offsetBehind(last, payload.batch);
    if (offset !== state.committed) {
      await payload.commitOffsetsIfNecessary({ topics: [{ topic, partitions: [{ partition, offset }] }] });
      state.committed = offset;
    }
    await payload.heartbeat();
  }

  /**
   * Sees to it that what is not done is read again. The partition pauses meanwhile when a server does not answer, when
   * so many orders fail that it must be the server, or when reading has gone too far ahead. The other partitions go on.
   * The group membership does too: fetches that bring nothing send heartbeats.
   * @returns whether the partition pauses.
   */
  #retryLater(payload: EachBatchPayload, state: PartitionState, unanswered: Server | undefined): boolean {
    const held = [...state.held.values()];
    const failure = held.find(({ error }) => error !== undefined);
    // A slow order gets on: it waits no longer than the others need to pass.
    if (unanswered === undefined && failure === undefined) state.startBackoffAnew();
    const cause = unanswered ?? held[0]?.server;
    if (cause === undefined || !payload.isRunning()) return false;
    this.#scheduleRetry(payload, state, { cause, err: failure?.error });
    const pauses = unanswered !== undefined || this.#isTooMuch(state);
    if (pauses) state.pauseUntilRetry(() => payload.pause());
    return pauses;
  }

  #scheduleRetry(
    { batch: { topic, partition } }: EachBatchPayload,
    state: PartitionState,
    why: { readonly cause: Server; readonly err: unknown },
  ): void {
    const isNew = state.retryLater(this.#options.maxBackoffMs, (offset) => {
      this.#consumer.seek({ topic, partition, offset });
    });
    if (!isNew) return;
    this.#metrics.bridgeRetries.inc({ cause: why.cause });
    const heldOrders = [...state.held.keys()];
    this.#logger.warn({ topic, partition, heldOrders, ...why }, 'what is not done is tried again later');
  }

  #isTooMuch({ held, progress }: PartitionState): boolean {
    return held.size >= this.#options.parallelOrders || progress.ahead >= MAX_READ_AHEAD_OFFSETS;
  }
}

/** Asked before each step: a member that is stopping or was told to read elsewhere starts nothing new. */
function isOurs(payload: EachBatchPayload): boolean {
  return payload.isRunning() && !payload.isStale();
}

/** The offset behind a message; behind the last one of a batch also the marks of transactions, which are never handed out. */
function offsetBehind(message: KafkaMessage, batch: Batch): string {
  return String(BigInt(message === batch.messages.at(-1) ? batch.lastOffset() : message.offset) + 1n);
}
