import { suspectSince, type FeedState, type SymbolState } from './quote-health';

export interface GateThresholds {
  readonly maxSilenceMs: number;
  readonly maxSourceAgeMs: number;
  /** Beyond it a measured offset is not believed, and a stamp that lies further in the future is not fresh. */
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
  /** Of the feed: heartbeats say that it lives, its quotes say how old they are. */
  readonly silenceMs: number | null;
  readonly sourceAgeMs: number | null;
  readonly clockOffsetMs: number | null;
  readonly suspect: boolean;
  /** On the monotonic clock; null when it is not suspect. */
  readonly suspectSinceMs: number | null;
  readonly quote: SymbolState | undefined;
}

/**
 * May an order for this symbol open now? Closed unless everything that must be known is known and good.
 * `offsetMs` is the measured clock offset of the feed. The figures are whole milliseconds, and the verdict follows
 * from them as they are shown.
 */
export function judge(
  feed: FeedState,
  symbol: string,
  offsetMs: number | null,
  now: Now,
  thresholds: GateThresholds,
): GateEvidence {
  const quote = feed.symbols.get(symbol);
  if (quote === undefined || feed.livenessMs === null || offsetMs === null) {
    return {
      refusal: { code: 'NO_QUOTE', reason: `no quote of ${symbol} has arrived` },
      silenceMs: feed.livenessMs === null ? null : Math.round(now.monotonicMs - feed.livenessMs),
      sourceAgeMs: null,
      clockOffsetMs: offsetMs === null ? null : Math.round(offsetMs),
      suspect: false,
      suspectSinceMs: null,
      quote,
    };
  }
  const facts = {
    silenceMs: Math.round(now.monotonicMs - feed.livenessMs),
    sourceAgeMs: Math.round(now.wallMs - quote.sourceTimeMs - offsetMs),
    clockOffsetMs: Math.round(offsetMs),
  };
  const suspectSinceMs = suspectSince(feed, quote);
  const doubt = { suspect: suspectSinceMs !== null, suspectSinceMs };
  const heldMs = Math.round(now.monotonicMs - quote.arrivedMs);
  const suspicion = suspicionOf(feed, quote);
  return { refusal: refusalOf({ ...facts, heldMs, suspicion }, thresholds), ...facts, ...doubt, quote };
}

interface Facts {
  readonly silenceMs: number;
  readonly sourceAgeMs: number;
  readonly clockOffsetMs: number;
  /** Since the quote arrived. */
  readonly heldMs: number;
  readonly suspicion: string | null;
}

function refusalOf(facts: Facts, thresholds: GateThresholds): GateEvidence['refusal'] {
  const { silenceMs, sourceAgeMs, clockOffsetMs, heldMs } = facts;
  if (silenceMs > thresholds.maxSilenceMs) {
    return { code: 'STALE_QUOTE', reason: `stale quote: ${silenceMs} ms` };
  }
  // A feed that is uniformly late looks like a clock that is behind: an offset beyond belief proves nothing fresh.
  if (Math.abs(clockOffsetMs) > thresholds.maxClockOffsetMs) {
    return { code: 'CLOCK_OFFSET', reason: `clock offset of the feed: ${clockOffsetMs} ms` };
  }
  if (sourceAgeMs < -thresholds.maxClockOffsetMs) {
    return { code: 'STALE_AT_SOURCE', reason: `stamped ${-sourceAgeMs} ms in the future` };
  }
  // A quote is at least as old as the time that we have had it, whatever its stamp says about that.
  const ageMs = Math.max(sourceAgeMs, heldMs);
  if (ageMs > thresholds.maxSourceAgeMs) {
    return { code: 'STALE_AT_SOURCE', reason: `stale at source: ${ageMs} ms` };
  }
  return facts.suspicion === null ? null : { code: 'SUSPECT_QUOTE', reason: facts.suspicion };
}

/** Why the price cannot be trusted, in words; null when it can be. */
function suspicionOf(feed: FeedState, quote: SymbolState): string | null {
  if (feed.ended) return 'the provider has ended its session';
  if (quote.suspectSinceMs !== null) {
    return 'messages were lost or a session began, and the price has not been stated in full since';
  }
  return feed.waitingSinceMs === null ? null : 'messages are missing and may still come';
}
