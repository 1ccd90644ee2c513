import type { Execution } from '../domain/execution';
import type { OrderKey } from '../domain/ids';

/** Executions of one order, in the order in which they were consumed. */
export interface ExecutionBatch {
  readonly key: OrderKey;
  readonly executions: readonly Execution[];
}
