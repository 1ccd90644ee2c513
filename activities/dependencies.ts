import type { StoredAnswer } from '../src/contracts/order-messages';
import type { GateVerdict } from '../src/contracts/quote-gate';
import type { VenueCommand } from '../src/contracts/venue-command';
import type { Pool } from '../src/db/pool';
import type { TransactionHooks } from '../src/db/transaction';
import type { OrderKey } from '../src/domain/ids';
import type { Metrics } from '../src/observability/metrics';

/** What the activities are made of. A composition root hands it in; tests hand in parts that fail on purpose. */
export interface ActivityDependencies {
  readonly pool: Pool;
  /** Rejects when the gate does not answer in time: it never means "open". */
  readonly askGate: (symbol: string) => Promise<GateVerdict>;
  /** Resolves when Kafka has acknowledged the command on all in-sync replicas. */
  readonly publishCommand: (command: VenueCommand) => Promise<void>;
  /** Tells a caller in this process that the answer is committed. */
  readonly announceAnswer: (key: OrderKey, answer: StoredAnswer) => void;
  readonly metrics: Metrics;
  readonly openOrderHooks?: TransactionHooks;
  readonly applyExecutionsHooks?: TransactionHooks;
}
