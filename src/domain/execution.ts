import type { OrderKey } from './ids';
import type { Side } from './order';

export const EXECUTION_TYPES = [
  'NEW',
  'FILL',
  'CANCELLED',
  'CANCEL_REJECTED',
  'REJECTED',
  'EXPIRED',
  'BUST',
  'CORRECT',
] as const;

export type ExecutionType = (typeof EXECUTION_TYPES)[number];

/** One execution as a venue bridge reported it, normalised: decimals canonical, times canonical UTC. */
export interface Execution extends OrderKey {
  /** The venue, or the session of a venue, within which `executionId` is unique for its type. */
  readonly source: string;
  readonly type: ExecutionType;
  readonly executionId: string;
  /** The execution that a BUST voids or a CORRECT replaces. */
  readonly refExecutionId?: string;
  readonly symbol: string;
  readonly side: Side;
  /** Decimal text above zero; present for FILL and CORRECT. */
  readonly quantity?: string;
  /** Decimal text; present for FILL and CORRECT. */
  readonly price?: string;
  /** The venue's own stamp, the same on every resend. RFC 3339 UTC, up to nanoseconds. */
  readonly executedAt: string;
  readonly venueOrderId?: string;
  /** The venue's words, e.g. why it rejected. */
  readonly reason?: string;
}

/** What makes two events the same event. */
export interface ExecutionIdentity {
  readonly source: string;
  readonly type: ExecutionType;
  readonly executionId: string;
}

/** A text that is equal exactly for equal identities; for maps and sets. */
export function executionIdentityText(identity: ExecutionIdentity): string {
  return JSON.stringify([identity.source, identity.type, identity.executionId]);
}
