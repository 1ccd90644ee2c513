import type {
  ApplyExecutionsCommand,
  ApplyExecutionsResult,
  OpenOrderCommand,
  OpenOrderResult,
} from '../src/contracts/order-messages';
import type { VenueCommand } from '../src/contracts/venue-command';
import type { OrderKey } from '../src/domain/ids';
import { applyExecutions } from './apply-executions';
import type { ActivityDependencies } from './dependencies';
import { openOrder } from './open-order';
import { markUnacknowledged, requestCancel, type OrderStatusResult } from './order-lifecycle';
import { sendToVenue } from './send-to-venue';

export type { ActivityDependencies } from './dependencies';

/** Every activity. All are idempotent: running one again, at any time, changes nothing more. */
export interface Activities {
  readonly openOrder: (command: OpenOrderCommand) => Promise<OpenOrderResult>;
  readonly sendToVenue: (command: VenueCommand) => Promise<void>;
  readonly applyExecutions: (command: ApplyExecutionsCommand) => Promise<ApplyExecutionsResult>;
  readonly requestCancel: (request: {
    readonly key: OrderKey;
    readonly reason: string;
  }) => Promise<OrderStatusResult>;
  readonly markUnacknowledged: (key: OrderKey) => Promise<OrderStatusResult>;
}

export function createActivities(deps: ActivityDependencies): Activities {
  return {
    openOrder: (command) => openOrder(deps, command),
    sendToVenue: (command) => sendToVenue(deps, command),
    applyExecutions: (command) => applyExecutions(deps, command),
    requestCancel: (request) => requestCancel(deps, request),
    markUnacknowledged: (key) => markUnacknowledged(deps, key),
  };
}
