import { isSuspect, type FeedState, type SymbolState } from './quote-health';

export interface GateThresholds {
  readonly maxSilenceMs: number;
  readonly maxSourceAgeMs: number;
  readonly maxClockOffsetMs: number;
}

/** Now, on both clocks: silence is measured on the one that is never set, source age on the one that providers share. */
export interface Now {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export type GateRefusal = 'NO_QUOTE' | 'STALE_QUOTE' | 'STALE_AT_SOURCE' | 'SUSPECT_QUOTE' | 'CLOCK_OFFSET';

/** The facts that a verdict rests on, and why it is closed, if it is. */
export interface GateEvidence {
  readonly refusal: { readonly code: GateRefusal; readonly reason: string } | null;
  readonly silenceMs: number | null;
  readonly sourceAgeMs: number | null;
  readonly clockOffsetMs: number | null;
  readonly suspect: boolean;
  readonly quote: SymbolState | undefined;
}

/** May an order for this symbol open now? Closed unless everything that must be known is known and good. */
export function judge(
  feed: FeedState,
  symbol: string,
  offsetMs: number | null,
  now: Now,
  thresholds: GateThresholds,
): GateEvidence {
  const quote = feed.symbols.get(symbol);
  if (quote === undefined || feed.livenessMs === null || offsetMs === null) {
    const refusal = { code: 'NO_QUOTE', reason: `no quote of ${symbol} has ever arrived` } as const;
    return { refusal, silenceMs: null, sourceAgeMs: null, clockOffsetMs: offsetMs, suspect: false, quote };
  }
  const facts = {
    silenceMs: Math.round(now.monotonicMs - feed.livenessMs),
    sourceAgeMs: Math.round(now.wallMs - quote.sourceTimeMs - offsetMs),
    clockOffsetMs: Math.round(offsetMs),
    suspect: isSuspect(feed, quote),
  };
  return { refusal: refusalOf(facts, thresholds), ...facts, quote };
}

interface Facts {
  readonly silenceMs: number;
  readonly sourceAgeMs: number;
  readonly clockOffsetMs: number;
  readonly suspect: boolean;
}

function refusalOf(facts: Facts, thresholds: GateThresholds): GateEvidence['refusal'] {
  const { silenceMs, sourceAgeMs, clockOffsetMs } = facts;
  if (silenceMs > thresholds.maxSilenceMs) {
    return { code: 'STALE_QUOTE', reason: `stale quote: ${silenceMs} ms` };
  }
  // A feed that is uniformly late looks like a clock that is behind: an offset beyond belief proves nothing fresh.
  if (Math.abs(clockOffsetMs) > thresholds.maxClockOffsetMs) {
    return { code: 'CLOCK_OFFSET', reason: `clock offset of the feed: ${clockOffsetMs} ms` };
  }
  // A stamp from the future is no sign of freshness either.
  if (Math.abs(sourceAgeMs) > thresholds.maxSourceAgeMs) {
    return { code: 'STALE_AT_SOURCE', reason: `stale at source: ${sourceAgeMs} ms` };
  }
  if (facts.suspect)
    return { code: 'SUSPECT_QUOTE', reason: 'messages were lost and the price is not certain' };
  return null;
}
