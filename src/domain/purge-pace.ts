/** How large a batch of the purge may be, and when it is too slow. */
export interface PurgePace {
  readonly maxRows: number;
  readonly minRows: number;
  /** A batch that takes longer is followed by a smaller one. */
  readonly slowMs: number;
}

/**
 * The size of the next batch: half after a slow one or one that failed, double after one that took less than half of
 * what is slow, within the bounds.
 */
export function nextBatchRows(rows: number, tookMs: number | 'failed', pace: PurgePace): number {
  if (tookMs === 'failed' || tookMs > pace.slowMs) return Math.max(pace.minRows, Math.floor(rows / 2));
  return tookMs < pace.slowMs / 2 ? Math.min(pace.maxRows, rows * 2) : rows;
}
