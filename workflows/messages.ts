import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { OpenOrderCommand, OpenOrderResult } from '../src/contracts/order-messages';
import type { Execution } from '../src/domain/execution';
import type { OrderStatus } from '../src/domain/order-status';

/** Executions of one order, in the order in which they were consumed; they may be repeats. */
export const executionsSignal = defineSignal<[executions: readonly Execution[]]>('executions');

/** Asks for a cancel at the venue. */
export const cancelUpdate = defineUpdate<OrderStatus>('cancel');

/** Fixed for each attempt, so that asking again attaches to the first; a refusal by the venue begins the next one. */
export function cancelUpdateId(cancelRejections: number): string {
  return cancelRejections === 0 ? 'cancel' : `cancel-${cancelRejections + 1}`;
}

/** Where the run stands; for people with the Temporal CLI. */
export const orderRunQuery = defineQuery<OrderRunView>('order');

export interface OrderRunView {
  readonly status: OrderStatus;
  readonly cumulativeQuantity: string;
  readonly queuedExecutions: number;
  readonly cancelRequested: boolean;
}

export const accountIdAttribute = defineSearchAttributeKey('TekilAccountId', SearchAttributeType.KEYWORD);
export const symbolAttribute = defineSearchAttributeKey('TekilSymbol', SearchAttributeType.KEYWORD);
export const orderStatusAttribute = defineSearchAttributeKey('TekilOrderStatus', SearchAttributeType.KEYWORD);

/** The input of an order's run. `carried` is what a run hands to the one that continues it. */
export interface OrderWorkflowInput {
  readonly command: OpenOrderCommand;
  /** How long the venue may say nothing. */
  readonly venueAckTimeoutMs: number;
  /** A run hands over to a new one after so many signals; the server's own limit is 10,000. */
  readonly maxSignalsPerRun: number;
  readonly carried?: CarriedOrder;
}

export interface CarriedOrder {
  readonly opened: OpenOrderResult;
  readonly status: OrderStatus;
  readonly cumulativeQuantity: string;
  readonly acknowledged: boolean;
  readonly cancel: CancelState;
  /** Absent when none. */
  readonly cancelRejections?: number;
  readonly undrained: readonly Execution[];
}

/** `none` → `requested` (by the client or by the order's expiry) → `sent` to the venue; back to `none` when it refuses. */
export type CancelState = 'none' | 'requested' | 'sent';

/** How an order's run ended. */
export interface OrderWorkflowResult {
  readonly outcome: OpenOrderResult['outcome'];
  readonly status: OrderStatus;
  readonly code?: string;
  /** The facts of a refusal, for people. */
  readonly reason?: string;
  readonly cumulativeQuantity: string;
}
