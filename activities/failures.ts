import { ApplicationFailure } from '@temporalio/common';
import { databaseFault } from '../src/db/pg-errors';

/**
 * An error as the Temporal UI shows it: a type to filter by, and a sentence an operator understands. Every failure here
 * is retryable; what is final is a result, not a failure.
 */
export function activityFailure(error: unknown, doing: string): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return ApplicationFailure.create({
    type: failureType(error),
    message: `${doing}: ${message}`,
    ...(error instanceof Error ? { cause: error } : {}),
  });
}

function failureType(error: unknown): string {
  switch (databaseFault(error)) {
    case 'unreachable':
      return 'DatabaseUnavailable';
    case 'retryable':
      return 'DatabaseBusy';
    case 'permanent':
      return error instanceof Error ? error.name : 'UnknownError';
  }
}

/** Runs one step of an activity; what it throws is told with what was being done. */
export async function step<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw activityFailure(error, doing);
  }
}
