import type { Execution } from '../domain/execution';
import type { OrderKey } from '../domain/ids';
import type { OrderRequest } from '../domain/order';
import type { OrderStatus } from '../domain/order-status';

/**
 * What crosses between the API, Temporal and the activities about one order. Plain JSON values only: these are stored
 * in workflow histories, so a field is never renamed and never changes its meaning.
 */

/** The input of an order's run: the first request of its key. */
export interface OpenOrderCommand {
  readonly request: OrderRequest;
  /** SHA-256, hexadecimal. */
  readonly requestHash: string;
  /** One random id per HTTP request: tells the caller whose request was the first from all others. */
  readonly requestId: string;
  /** RFC 3339, the database's clock. The order is refused, never opened, after it. */
  readonly acceptBy: string;
}

/** What `openOrder` tells the workflow. The answer itself stays in PostgreSQL. */
export interface OpenOrderResult {
  /** `superseded`: the key holds another request; this run must do nothing more. */
  readonly outcome: 'opened' | 'refused' | 'superseded';
  readonly status: OrderStatus;
  /** The refusal's code, when refused. */
  readonly code?: string;
  /** The facts of the refusal in one sentence, e.g. `stale quote: 1240 ms`; from the attempt that stored it. */
  readonly reason?: string;
  /** Executions of this order had arrived before it did. */
  readonly parkedExecutions: boolean;
  /** NEW_ORDER has reached the venue's topic; false also when there is nothing to send. */
  readonly sent: boolean;
}

/** The first answer of a key, as it went to the client. */
export interface StoredAnswer {
  readonly requestHash: string;
  readonly requestId: string;
  /** 201 or 409. */
  readonly statusCode: number;
  /** JSON text; given back byte for byte. */
  readonly body: string;
}

export interface ApplyExecutionsCommand extends OrderKey {
  /** Executions of this one order, in the order in which they were consumed. */
  readonly executions: readonly Execution[];
  /** Also apply what was parked for this order. */
  readonly includeParked?: boolean;
}

/** The order after a batch. Computed from its rows, so that a retry returns the same. */
export interface ApplyExecutionsResult {
  /** False when no such order exists: the executions are parked. */
  readonly orderExists: boolean;
  readonly status?: OrderStatus;
  /** Decimal text. */
  readonly cumulativeQuantity?: string;
  /** How often the venue has refused to cancel the order; absent when never. */
  readonly cancelRejections?: number;
}

/** The input of the run that books executions of a closed or unknown order. */
export type LateExecutionsCommand = OrderKey;
