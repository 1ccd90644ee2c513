import { ZERO, type Decimal } from './decimal';

/** A bust or a correction of a fill, or of an earlier correction of it. */
export interface Amendment {
  readonly executionId: string;
  /** The execution that it voids or replaces. */
  readonly refExecutionId: string;
  readonly type: 'BUST' | 'CORRECT';
  /** Present for CORRECT. */
  readonly quantity?: Decimal;
  readonly price?: Decimal;
  /** Canonical RFC 3339. */
  readonly executedAt: string;
}

/** What a fill counts for. */
export interface EffectiveTrade {
  /** Zero when busted. */
  readonly quantity: Decimal;
  readonly price: Decimal;
  readonly amendedBy: string | null;
}

/**
 * What a fill counts for after all its amendments, in whatever order they arrived. An amendment that another one
 * refers to is replaced by it. Of those that remain a bust decides, then the latest by the venue's stamp, then the
 * greater execution id: the same answer for every order of arrival.
 */
export function effectiveTrade(
  reported: { readonly quantity: Decimal; readonly price: Decimal },
  amendments: readonly Amendment[],
): EffectiveTrade {
  const deciding = decidingAmendment(amendments);
  if (deciding === undefined) return { ...reported, amendedBy: null };
  if (deciding.quantity === undefined || deciding.price === undefined) {
    return { quantity: ZERO, price: reported.price, amendedBy: deciding.executionId };
  }
  return { quantity: deciding.quantity, price: deciding.price, amendedBy: deciding.executionId };
}

function decidingAmendment(amendments: readonly Amendment[]): Amendment | undefined {
  const replaced = new Set(amendments.map((amendment) => amendment.refExecutionId));
  const standing = amendments.filter((amendment) => !replaced.has(amendment.executionId));
  return standing.toSorted(byAuthority).at(-1);
}

function byAuthority(a: Amendment, b: Amendment): number {
  if (a.type !== b.type) return a.type === 'BUST' ? 1 : -1;
  return compareText(a.executedAt, b.executedAt) || compareText(a.executionId, b.executionId);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
