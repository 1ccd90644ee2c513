import type { GateVerdict } from '../contracts/quote-gate';
import { judge, type GateEvidence, type GateThresholds, type Now } from '../domain/quote-gate';
import type { FeedState } from '../domain/quote-health';

/** What a verdict is made from. */
export interface JudgedFeed {
  readonly feed: string;
  readonly state: FeedState;
  /** The measured clock offset of the provider; null before the first measurement. */
  readonly offsetMs: number | null;
  readonly thresholds: GateThresholds;
}

/** The verdict about a symbol, with all its evidence: the same for every kind of feed. */
export function gateVerdict(
  { feed, state, offsetMs, thresholds }: JudgedFeed,
  symbol: string,
  now: Now,
): GateVerdict {
  const evidence = judge(state, symbol, offsetMs, now, thresholds);
  return {
    symbol,
    verdict: evidence.refusal === null ? 'open' : 'closed',
    ...evidence.refusal,
    feed,
    session: state.session,
    ...measured(evidence, now),
    lost: state.lost.toString(),
    decidedAt: new Date(now.wallMs).toISOString(),
  };
}

function measured({ quote, refusal, suspectSinceMs, ...figures }: GateEvidence, now: Now) {
  const suspectSince =
    suspectSinceMs === null ? null : new Date(now.wallMs - Math.round(now.monotonicMs - suspectSinceMs));
  return {
    ...figures,
    suspectSince: suspectSince?.toISOString() ?? null,
    lastSequence: quote === undefined ? null : quote.sequence.toString(),
    bid: quote === undefined ? null : quote.bid,
    ask: quote === undefined ? null : quote.ask,
  };
}
