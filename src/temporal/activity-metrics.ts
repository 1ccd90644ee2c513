import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Metrics } from '../observability/metrics';

/**
 * Counts the attempts that repeat an earlier one, and those that fail. The first is what an alert needs: a worker that
 * is killed fails nothing, and its activity is tried again all the same. The second says why.
 */
export function countActivityAttempts(metrics: Metrics): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute: async (input, next) => {
        const activity = info.activityType;
        if (info.attempt > 1) metrics.activityRetries.inc({ activity });
        try {
          return await next(input);
        } catch (error) {
          metrics.activityFailures.inc({ activity, type: failureType(error) });
          throw error;
        }
      },
    },
  });
}

/** The words that the Temporal UI filters by; few, because they are names in our code and never a message. */
function failureType(error: unknown): string {
  if (error instanceof CancelledFailure) return 'Cancelled';
  if (error instanceof ApplicationFailure) return error.type ?? 'ApplicationFailure';
  return error instanceof Error ? error.name : 'UnknownError';
}
