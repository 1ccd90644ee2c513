import type { ExecutionBatch } from '../contracts/execution-batch';
import type { OpenOrderCommand, StoredAnswer } from '../contracts/order-messages';
import type { OrderKey } from '../domain/ids';

/** Temporal did not accept a call in time. Nothing is known to have happened; the call may be made again. */
export class TemporalUnavailableError extends Error {
  override readonly name = 'TemporalUnavailableError';
}

/** A caller's wait for an answer that `openOrder` announces inside this process. */
export interface AnswerExpectation {
  /** Resolves when the answer is announced here; stays pending for ever otherwise. */
  readonly answer: Promise<StoredAnswer>;
  /** Lets go of the wait. Always called, in a `finally`. */
  readonly release: () => void;
}

/** An order to cancel, and how often the venue has refused to. */
export interface CancellableOrder extends OrderKey {
  readonly cancelRejections: number;
}

/** What the HTTP room knows of Temporal. */
export interface OrderGateway {
  /** Call before `start`, so that no announcement is missed. */
  expectAnswer(key: OrderKey): AnswerExpectation;
  /**
   * Starts the order's run, or attaches to the one that is there. `here`: its first task runs in this process, so its
   * answer is announced here. `elsewhere`: it may be. `closed`: its run has ended.
   * @throws {TemporalUnavailableError}
   */
  start(command: OpenOrderCommand): Promise<'here' | 'elsewhere' | 'closed'>;
  /**
   * Until when the closed run of this order could still have opened it (RFC 3339), or undefined when there is none.
   * @throws {TemporalUnavailableError}
   */
  closedRunAcceptBy(key: OrderKey): Promise<string | undefined>;
  /**
   * Asks the run to cancel at the venue; asking again changes nothing, unless the venue has refused in between. `closed`: there is no open run.
   * @throws {TemporalUnavailableError}
   */
  requestCancel(order: CancellableOrder): Promise<'requested' | 'closed'>;
}

/** What the executions consumer knows of Temporal. */
export interface ExecutionGateway {
  /**
   * Hands the executions of one order to its run, or, when that is closed or absent, to the late run of the order.
   * Resolves only when Temporal has accepted.
   * @throws {TemporalUnavailableError}
   */
  deliver(batch: ExecutionBatch): Promise<'order' | 'late'>;
}
