import { ServiceError, type Client } from '@temporalio/client';
import { TemporalUnavailableError } from './order-gateway';

/** gRPC status codes after which nothing is known to have happened and the call may be made again. */
const UNAVAILABLE_CODES: Readonly<Record<number, string>> = {
  1: 'CANCELLED',
  2: 'UNKNOWN',
  4: 'DEADLINE_EXCEEDED',
  8: 'RESOURCE_EXHAUSTED',
  10: 'ABORTED',
  13: 'INTERNAL',
  14: 'UNAVAILABLE',
};

/**
 * Runs one client call under a deadline. Whatever means "Temporal did not accept it in time" becomes one error.
 * @throws {TemporalUnavailableError}
 */
export async function underDeadline<T>(
  client: Client,
  timeoutMs: number,
  what: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await client.withDeadline(Date.now() + timeoutMs, call);
  } catch (error) {
    const status = unavailableStatus(error);
    if (status === undefined) throw error;
    throw new TemporalUnavailableError(`Temporal did not accept ${what} within ${timeoutMs} ms (${status})`, {
      cause: error,
    });
  }
}

function unavailableStatus(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // An update that timed out has its own class; its cause is the gRPC error.
  if (error.name === 'WorkflowUpdateRPCTimeoutOrCancelledError') return 'DEADLINE_EXCEEDED';
  const cause = error instanceof ServiceError ? error.cause : error;
  if (!(cause instanceof Error) || !('code' in cause) || typeof cause.code !== 'number') return undefined;
  return UNAVAILABLE_CODES[cause.code];
}
