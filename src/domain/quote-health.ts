/**
 * The health of one quote feed, as a state machine without a clock: every input carries its time. Numbers belong to
 * the feed, not to a symbol, so a gap makes every symbol suspect: the lost message may have been about any of them.
 * The state is changed in place; this is the one hot loop of the system.
 */
export interface FeedRules {
  /** `full`: each tick is the whole price. `delta`: a tick changes it, so a loss is healed only by a snapshot. */
  readonly kind: 'full' | 'delta';
  /** What a heartbeat's number means: the next number to come, the last one sent, or a number of its own. */
  readonly heartbeatSequence: 'next' | 'last' | 'consumes';
}

export interface FeedState {
  session: string | null;
  /** The highest number taken in this session; null before the first. */
  lastSequence: bigint | null;
  /** Of the last tick or gap-free heartbeat, on the monotonic clock; null before the first. */
  livenessMs: number | null;
  /** Ticks whose numbers were passed over, since the start. */
  lost: bigint;
  /** Counts the gaps and resets: a symbol is suspect unless it was made certain in the current one. */
  doubt: number;
  ended: boolean;
  readonly symbols: Map<string, SymbolState>;
  /** Sessions that are over; a delayed packet of one must not bring it back. */
  readonly formerSessions: string[];
}

export interface SymbolState {
  bid: number;
  ask: number;
  /** The provider's stamp, milliseconds since 1970. */
  sourceTimeMs: number;
  sequence: bigint;
  /** The doubt of the feed in which this price was last certain; −1: never. */
  certainIn: number;
}

export interface QuoteInput {
  readonly session: string;
  readonly sequence: bigint;
  readonly kind: 'tick' | 'snapshot';
  readonly symbol: string;
  readonly bid: number;
  readonly ask: number;
  readonly sourceTimeMs: number;
}

/** What an input did. `lost` is what this input showed to be lost, never counted twice and never negative. */
export interface Effect {
  readonly outcome: 'taken' | 'repeat' | 'former_session' | 'alive' | 'gap' | 'late' | 'ended';
  readonly lost: bigint;
}

const FORMER_SESSIONS = 16;

export function newFeed(): FeedState {
  return {
    session: null,
    lastSequence: null,
    livenessMs: null,
    lost: 0n,
    doubt: 0,
    ended: false,
    symbols: new Map(),
    formerSessions: [],
  };
}

/** A price is certain when no message can have been lost since it was last stated in full. */
export function isSuspect(feed: FeedState, symbol: SymbolState): boolean {
  return feed.ended || symbol.certainIn !== feed.doubt;
}

/** A tick or a snapshot. `nowMs` is the monotonic clock. */
export function applyQuote(feed: FeedState, rules: FeedRules, input: QuoteInput, nowMs: number): Effect {
  if (!enterSession(feed, input.session)) return { outcome: 'former_session', lost: 0n };
  if (feed.lastSequence !== null && input.sequence <= feed.lastSequence)
    return { outcome: 'repeat', lost: 0n };
  const lost = passOver(feed, input.sequence);
  feed.lastSequence = input.sequence;
  feed.livenessMs = nowMs;
  setPrice(feed, rules, input);
  return { outcome: 'taken', lost };
}

function setPrice(feed: FeedState, rules: FeedRules, input: QuoteInput): void {
  const whole = rules.kind === 'full' || input.kind === 'snapshot';
  const known = feed.symbols.get(input.symbol);
  const { bid, ask, sourceTimeMs, sequence } = input;
  const certainIn = whole ? feed.doubt : (known?.certainIn ?? -1);
  if (known === undefined) feed.symbols.set(input.symbol, { bid, ask, sourceTimeMs, sequence, certainIn });
  else Object.assign(known, { bid, ask, sourceTimeMs, sequence, certainIn });
}

/** A heartbeat that carries `sequence`. It refreshes liveness only when it shows that nothing is missing. */
export function applyHeartbeat(
  feed: FeedState,
  rules: FeedRules,
  input: { readonly session: string; readonly sequence: bigint },
  nowMs: number,
): Effect {
  if (!enterSession(feed, input.session)) return { outcome: 'former_session', lost: 0n };
  const sent = lastSent(rules, input.sequence);
  const consumed = rules.heartbeatSequence === 'consumes';
  if (feed.lastSequence === null) {
    feed.lastSequence = sent;
    feed.livenessMs = nowMs;
    return { outcome: 'alive', lost: 0n };
  }
  // A number below the expected one is a heartbeat that was overtaken; it says nothing about now.
  if (sent < feed.lastSequence || (consumed && sent === feed.lastSequence))
    return { outcome: 'late', lost: 0n };
  const lost = passOver(feed, consumed ? sent : sent + 1n);
  feed.lastSequence = sent;
  if (lost > 0n) return { outcome: 'gap', lost };
  feed.livenessMs = nowMs;
  return { outcome: 'alive', lost: 0n };
}

/** The provider ends its session: nothing that it said is a price any more. */
export function applyEndOfSession(feed: FeedState, session: string): Effect {
  if (!enterSession(feed, session)) return { outcome: 'former_session', lost: 0n };
  feed.ended = true;
  return { outcome: 'ended', lost: 0n };
}

/** The highest number that has been sent, by what this feed's heartbeats mean. */
function lastSent(rules: FeedRules, sequence: bigint): bigint {
  return rules.heartbeatSequence === 'next' ? sequence - 1n : sequence;
}

/** Counts what lies between the last number and `sequence`, and lets every price be doubted if that is anything. */
function passOver(feed: FeedState, sequence: bigint): bigint {
  if (feed.lastSequence === null) return 0n;
  const lost = sequence - feed.lastSequence - 1n;
  if (lost <= 0n) return 0n;
  feed.lost += lost;
  feed.doubt += 1;
  return lost;
}

/** False for a session that is over. A new one voids the numbering, and every price is doubted. */
function enterSession(feed: FeedState, session: string): boolean {
  if (feed.session === session) return true;
  if (feed.formerSessions.includes(session)) return false;
  if (feed.session !== null) {
    feed.formerSessions.push(feed.session);
    if (feed.formerSessions.length > FORMER_SESSIONS) feed.formerSessions.shift();
    feed.doubt += 1;
  }
  feed.session = session;
  feed.lastSequence = null;
  feed.ended = false;
  return true;
}
