import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  log,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow';
import type { Activities } from '../activities';

/** Below 80 % of the workflow task's timeout, so that the task never has to be prolonged. */
const LOCAL_TIMEOUT_MS = 2_000;
const REGULAR_TIMEOUT_MS = 10_000;

const local = proxyLocalActivities<Activities>({
  startToCloseTimeout: LOCAL_TIMEOUT_MS,
  retry: { maximumAttempts: 1 },
});

/** Tried until it succeeds: what an order still owes is never given up, and operators see each attempt. */
const REGULAR_OPTIONS = {
  startToCloseTimeout: REGULAR_TIMEOUT_MS,
  retry: { initialInterval: 200, backoffCoefficient: 2, maximumInterval: 5_000 },
} as const;

type ActivityName = keyof Activities;
type Argument<N extends ActivityName> = Parameters<Activities[N]>[0];
type Result<N extends ActivityName> = Awaited<ReturnType<Activities[N]>>;

/**
 * Local first, visible on trouble. The usual case takes milliseconds and runs inside the workflow task, once. If that
 * fails, the same function runs as a regular activity, whose attempts, last failure and next retry the Temporal UI
 * shows. Only for activities that may run twice, which all of ours may.
 */
export async function localFirst<N extends ActivityName>(
  name: N,
  argument: Argument<N>,
  summary: string,
): Promise<Result<N>> {
  const run = local[name] as (argument: Argument<N>) => Promise<Result<N>>;
  try {
    return await run(argument);
  } catch (error) {
    if (isCancellation(error) || isFinal(error)) throw error;
    log.warn('an activity failed and goes on as a visible one', { activity: name, error: String(error) });
  }
  const regular = proxyActivities<Activities>({ ...REGULAR_OPTIONS, summary });
  const retry = regular[name] as (argument: Argument<N>) => Promise<Result<N>>;
  return retry(argument);
}

function isFinal(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure && cause.nonRetryable === true;
}
