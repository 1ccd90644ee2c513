import { judgeWindow, type TopicRetention, type WindowVerdict } from '../src/domain/dedup-window';
import type { Logger } from '../src/observability/logger';
import type { Metrics } from '../src/observability/metrics';

export interface DedupWindowDependencies {
  /** Of dedup rows. */
  readonly windowMs: number;
  /** Asks the broker about the executions topic and that of its dead letters. Rejects when it does not answer. */
  readonly readRetention: () => Promise<readonly [executions: TopicRetention, deadLetters: TopicRetention]>;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/**
 * Compares the window with what the broker keeps, now; a refusal is logged and shown as a metric. A broker that does
 * not answer leaves the metric as it was: nothing is known then, and nothing is deleted.
 */
export async function checkDedupWindow(deps: DedupWindowDependencies): Promise<WindowVerdict> {
  const [executions, deadLetters] = await deps.readRetention();
  const verdict = judgeWindow({ windowMs: deps.windowMs, executions, deadLetters });
  deps.metrics.dedupGuardRefusing.set(verdict.safe ? 0 : 1);
  if (!verdict.safe) {
    deps.logger.error({ code: verdict.code, reason: verdict.reason }, 'dedup rows are not deleted');
  }
  return verdict;
}
