import type {
  ApplyExecutionsCommand,
  ApplyExecutionsResult,
  OpenOrderCommand,
  OpenOrderResult,
} from '../src/contracts/order-messages';
import type { PurgeResult, VerifyPage, VerifyProgress } from '../src/contracts/maintenance';
import type { VenueCommand } from '../src/contracts/venue-command';
import type { OrderKey } from '../src/domain/ids';
import { applyExecutions } from './apply-executions';
import type { ActivityDependencies } from './dependencies';
import { openOrder } from './open-order';
import { markUnacknowledged, requestCancel, type OrderStatusResult } from './order-lifecycle';
import { purgeDedupRows, type PurgeDependencies } from './purge-dedup-rows';
import { sendToVenue } from './send-to-venue';
import { verifyPositions, type VerifyDependencies } from './verify-positions';

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

export type MaintenanceDependencies = PurgeDependencies & VerifyDependencies;

/** The activities of the scheduled workflows. They run on a task queue of their own. */
export interface MaintenanceActivities {
  readonly purgeDedupRows: () => Promise<PurgeResult>;
  readonly verifyPositions: (soFar: VerifyProgress) => Promise<VerifyPage>;
}

export function createMaintenanceActivities(deps: MaintenanceDependencies): MaintenanceActivities {
  return {
    purgeDedupRows: () => purgeDedupRows(deps),
    verifyPositions: (soFar) => verifyPositions(deps, soFar),
  };
}
