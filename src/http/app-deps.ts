import type { ReadPayload } from '../db/operator-decisions';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import type { ExecutionGateway } from '../temporal/order-gateway';
import type { SubmitOrderDeps } from './submit-order';

/** What the API is made of. */
export interface AppDeps extends SubmitOrderDeps {
  readonly executions: ExecutionGateway;
  /** Reads an execution that was set aside. */
  readonly readPayload: ReadPayload;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly bodyLimitBytes: number;
  /** Whatever a request does, it is answered by then. */
  readonly requestDeadlineMs: number;
}
