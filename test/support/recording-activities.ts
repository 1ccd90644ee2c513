import type { Activities } from '../../activities';
import type { ApplyExecutionsCommand } from '../../src/contracts/order-messages';
import type { VenueCommand } from '../../src/contracts/venue-command';
import { decimal, decimalText } from '../../src/domain/decimal';
import type { OrderStatus } from '../../src/domain/order-status';

/** What the activities were asked, in order. */
export interface Recorded {
  readonly opened: string[];
  readonly commands: VenueCommand['command'][];
  /** Of each CANCEL. */
  readonly attempts: VenueCommand['attempt'][];
  readonly batches: ApplyExecutionsCommand[];
  /** Of the executions that came for the first time, in the order in which they were booked. */
  readonly executionIds: string[];
  readonly cancels: string[];
  readonly unacknowledged: string[];
}

const ENDS: Readonly<Partial<Record<string, OrderStatus>>> = {
  CANCELLED: 'CANCELLED',
  REJECTED: 'REJECTED',
  EXPIRED: 'EXPIRED',
};

/**
 * Activities that keep one order in memory. They stand in for the database only where a test is about the workflow
 * itself: its order of steps, its timers, its queue. What they record is what the workflow asked for.
 */
export function recordingActivities(
  quantity = '10',
  overrides: Partial<Activities> = {},
  sendsAtOnce = true,
): { readonly activities: Activities; readonly recorded: Recorded } {
  const recorded: Recorded = {
    opened: [],
    commands: [],
    attempts: [],
    batches: [],
    executionIds: [],
    cancels: [],
    unacknowledged: [],
  };
  let status: OrderStatus = 'PENDING_NEW';
  let filled = decimal('0');
  let cancelRejections = 0;
  const seen = new Set<string>();
  const activities: Activities = {
    openOrder: (command) => {
      recorded.opened.push(command.requestId);
      if (sendsAtOnce) recorded.commands.push('NEW_ORDER');
      return Promise.resolve({ outcome: 'opened', status, parkedExecutions: false, sent: sendsAtOnce });
    },
    sendToVenue: ({ command, attempt }) => {
      recorded.commands.push(command);
      if (command === 'CANCEL') recorded.attempts.push(attempt);
      return Promise.resolve();
    },
    applyExecutions: (command) => {
      recorded.batches.push(command);
      for (const execution of command.executions) {
        // A workflow task that fails is run again, and with it what it did locally: repeats must change nothing.
        if (seen.has(execution.executionId)) continue;
        seen.add(execution.executionId);
        recorded.executionIds.push(execution.executionId);
        if (execution.type === 'CANCEL_REJECTED') cancelRejections += 1;
        if (execution.type === 'NEW' && status !== 'PARTIALLY_FILLED') status = 'NEW';
        status = ENDS[execution.type] ?? status;
        if (execution.quantity === undefined) continue;
        filled = filled.plus(execution.quantity);
        status = filled.gte(quantity) ? 'FILLED' : 'PARTIALLY_FILLED';
      }
      const cumulativeQuantity = decimalText(filled);
      return Promise.resolve({ orderExists: true, status, cumulativeQuantity, cancelRejections });
    },
    requestCancel: ({ key }) => {
      recorded.cancels.push(key.clientOrderId);
      return Promise.resolve({ status });
    },
    markUnacknowledged: (key) => {
      recorded.unacknowledged.push(key.clientOrderId);
      status = 'UNACKNOWLEDGED';
      return Promise.resolve({ status });
    },
    ...overrides,
  };
  return { activities, recorded };
}
