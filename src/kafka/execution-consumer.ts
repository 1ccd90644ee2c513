import { KafkaJSError, type Admin, type Consumer, type EachBatchPayload, type Kafka } from 'kafkajs';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import { CLIENT_RETRY } from './client';
import { backoffMs, contiguousCount } from './execution-batch';
import { processSlice, type ExecutionPorts, type Server, type SliceControl } from './execution-slice';
import { createLimiter, type Limiter } from './limiter';

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
 * Every call of a slice ends within eight seconds by its own deadlines, and heartbeats are sent between calls. It is
 * also how long the partitions of a member that was killed stay without a reader.
 */
const SESSION_TIMEOUT_MS = 15_000;
const REBALANCE_TIMEOUT_MS = 60_000;
const HEARTBEAT_INTERVAL_MS = 3_000;
/** Bounds how long a paused partition waits for its next fetch, and how long a stop waits for a fetch. */
const MAX_FETCH_WAIT_MS = 1_000;
/** How long a raised partition count stays unseen. */
const METADATA_MAX_AGE_MS = 60_000;
/** Kafka's own numbers for "the first there is" and "none was committed". */
const EARLIEST_OFFSET = '-2';
const NO_OFFSET = '-1';

/** What this member knows of a partition that it holds; ends with the membership. */
interface PartitionState {
  /** Offsets behind the committed one that are done already, because other orders went ahead of a failed one. */
  readonly done: Set<string>;
  failedAttempts: number;
  hasCommitted: boolean;
}

/**
 * Reads the topic `executions` and hands every execution to the run of its order. An offset is committed only when
 * everything before it was accepted by Temporal, dropped as a repeat or put aside; so a crash anywhere leads to
 * repeats and never to a loss. When a server does not answer, the partition pauses and is read again from the first
 * message that is not done.
 */
export class ExecutionConsumer {
  readonly #consumer: Consumer;
  readonly #admin: Admin;
  readonly #ports: ExecutionPorts;
  readonly #options: ExecutionConsumerOptions;
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  readonly #limiter: Limiter;
  readonly #timers = new Set<NodeJS.Timeout>();
  #partitions = new Map<number, PartitionState>();
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
    for (const timer of this.#timers) clearTimeout(timer);
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
    const { GROUP_JOIN, HEARTBEAT, CRASH } = this.#consumer.events;
    const alive = (): void => {
      this.#lastHeartbeatAt = performance.now();
    };
    this.#consumer.on(HEARTBEAT, alive);
    this.#consumer.on(GROUP_JOIN, ({ payload }) => {
      alive();
      // Others may have held our partitions in between, or the topic may be another one of the same name.
      this.#partitions = new Map();
      this.#logger.info({ assignment: payload.memberAssignment }, 'joined the group');
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
    const { topic, partition, messages } = payload.batch;
    if (await this.#offsetIsForgotten(partition)) {
      this.#logger.warn({ topic, partition }, 'the topic was created anew; it is read from its beginning');
      this.#partitions.delete(partition);
      this.#consumer.seek({ topic, partition, offset: EARLIEST_OFFSET });
      return;
    }
    for (let start = 0; start < messages.length; start += SLICE_MESSAGES) {
      if (!mayContinue(payload)) return;
      const complete = await this.#processSlice(payload, messages.slice(start, start + SLICE_MESSAGES));
      if (!complete) return;
    }
  }

  /**
   * The broker forgets a group's offsets together with the topic. If ours are gone, the topic was deleted and created
   * again, and the library, which does not notice, would go on in the middle of the new one.
   */
  async #offsetIsForgotten(partition: number): Promise<boolean> {
    if (!this.#stateOf(partition).hasCommitted) return false;
    const { groupId, topic } = this.#options;
    const [committed] = await this.#admin.fetchOffsets({ groupId, topics: [topic] });
    const entry = committed?.partitions.find((candidate) => candidate.partition === partition);
    return entry === undefined || entry.offset === NO_OFFSET;
  }

  /** False when the rest of the batch has to wait. */
  async #processSlice(
    payload: EachBatchPayload,
    messages: EachBatchPayload['batch']['messages'],
  ): Promise<boolean> {
    const { topic, partition } = payload.batch;
    const state = this.#stateOf(partition);
    const control: SliceControl = {
      metrics: this.#metrics,
      limiter: this.#limiter,
      maxFailedOrders: this.#options.parallelOrders,
      mayContinue: () => mayContinue(payload),
      heartbeat: () => payload.heartbeat(),
    };
    let unanswered: Server | undefined;
    try {
      await processSlice({ topic, partition, messages, done: state.done }, this.#ports, control);
    } catch (error) {
      unanswered = this.#ports.unansweredBy(error);
      if (unanswered === undefined) throw error;
      this.#logger.warn({ err: error, topic, partition, server: unanswered }, 'a server did not answer');
    }
    const complete = await this.#commit(payload, messages, state);
    if (unanswered === undefined) state.failedAttempts = 0;
    else this.#pause(payload, state, unanswered);
    return complete;
  }

  #stateOf(partition: number): PartitionState {
    const known = this.#partitions.get(partition);
    if (known !== undefined) return known;
    const state: PartitionState = { done: new Set(), failedAttempts: 0, hasCommitted: false };
    this.#partitions.set(partition, state);
    return state;
  }

  /** Moves the offset over the messages at the front that are done. True when those are all. */
  async #commit(
    payload: EachBatchPayload,
    messages: EachBatchPayload['batch']['messages'],
    state: PartitionState,
  ): Promise<boolean> {
    const { done } = state;
    const count = contiguousCount(messages, (offset) => done.has(offset));
    const last = messages[count - 1];
    if (last === undefined || payload.isStale()) return false;
    payload.resolveOffset(last.offset);
    for (const { offset } of messages.slice(0, count)) done.delete(offset);
    await payload.commitOffsetsIfNecessary(payload.uncommittedOffsets());
    state.hasCommitted = true;
    await payload.heartbeat();
    return count === messages.length;
  }

  /** The other partitions go on. The group membership does too: fetches that bring nothing send heartbeats. */
  #pause(payload: EachBatchPayload, state: PartitionState, server: Server): void {
    const delayMs = backoffMs(state.failedAttempts, this.#options.maxBackoffMs);
    state.failedAttempts += 1;
    this.#metrics.bridgeRetries.inc({ cause: server });
    const resume = payload.pause();
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      resume();
    }, delayMs);
    this.#timers.add(timer);
  }
}

/** Asked before each step: a member that is stopping or was told to read elsewhere starts nothing new. */
function mayContinue(payload: EachBatchPayload): boolean {
  return payload.isRunning() && !payload.isStale();
}
