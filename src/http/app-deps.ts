import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import type { SubmitOrderDeps } from './submit-order';

/** What the API is made of. */
export interface AppDeps extends SubmitOrderDeps {
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly bodyLimitBytes: number;
  /** Whatever a request does, it is answered by then. */
  readonly requestDeadlineMs: number;
}
