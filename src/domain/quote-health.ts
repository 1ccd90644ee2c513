/**
 * The health of one quote feed, as a state machine without a clock: every input carries its time. Numbers belong to
 * the feed, not to a symbol, so a gap makes every symbol suspect: the lost message may have been about any of them.
 * The state is changed in place; this is the one hot loop of the system. docs/quote-feed.md has the table.
 */
export interface FeedRules {
  /** `full`: each tick is the whole price. `delta`: a tick changes it, so a loss is healed only by a snapshot. */
  readonly kind: 'full' | 'delta';
  /** What a heartbeat's number means: the next number to come, the last one sent, or a number of its own. */
  readonly heartbeatSequence: 'next' | 'last' | 'consumes';
}

export interface FeedState {
  session: string | null;
  /** The highest number taken or passed over in this session; null before the first. */
  lastSequence: bigint | null;
  /** Of the last tick or gap-free heartbeat, on the monotonic clock; null before the first. */
  livenessMs: number | null;
  /** Messages whose numbers were passed over, since the start. */
  lost: bigint;
  /**
   * Since when, on the monotonic clock, numbers are missing that may yet come, from another line or from a repair; null
   * when none is. Nothing is counted lost meanwhile, and no price is certain.
   */
  waitingSinceMs: number | null;
  /** The provider has closed the current session; only another one can follow. */
  ended: boolean;
  /** The latest source stamp of this session, milliseconds since 1970. */
  newestSourceTimeMs: number;
  /** At most `MAX_SYMBOLS`. */
  readonly symbols: Map<string, SymbolState>;
  /** Those of them that are not suspect: a doubt visits each price once after it was stated in full, however many there are. */
  readonly certain: Set<SymbolState>;
  /** Sessions that are over, at most `FORMER_SESSIONS`; a delayed packet of one must not bring it back. */
  readonly formerSessions: string[];
}

export interface SymbolState {
  bid: number;
  ask: number;
  /** The provider's stamp, milliseconds since 1970. */
  sourceTimeMs: number;
  /** When it was taken, on the monotonic clock. */
  arrivedMs: number;
  sequence: bigint;
  /** Since when, on the monotonic clock, the price is doubted; null: it is certain. */
  suspectSinceMs: number | null;
}

/** What every message of a feed has. */
export interface Numbered {
  readonly session: string;
  /** Its number; of a message that covers several, the last. */
  readonly sequence: bigint;
}

/** A message: some feeds let one stand for several numbers. */
export interface Message extends Numbered {
  /** The first number that it covers; its own when left out. */
  readonly firstSequence?: bigint;
}

export interface QuoteInput extends Message {
  readonly kind: 'tick' | 'snapshot';
  readonly symbol: string;
  readonly bid: number;
  readonly ask: number;
  readonly sourceTimeMs: number;
}

/** What an input did. `lost` is what this input showed to be lost, never counted twice and never negative. */
export interface Effect {
  readonly outcome:
    /** A price was taken. */
    | 'taken'
    /** A snapshot restarted the numbering, and its price was taken. */
    | 'restart'
    /** Its number was used, its price not kept: there are `MAX_SYMBOLS` already. */
    | 'over_limit'
    /** A message that is no price. */
    | 'other'
    /** A message that could not be understood. */
    | 'unread'
    /** A number that had been taken or passed over. */
    | 'repeat'
    /** Of a session that is over. */
    | 'former_session'
    /** A heartbeat without a gap. */
    | 'alive'
    /** A heartbeat that showed a loss. */
    | 'gap'
    /** A heartbeat that was overtaken. */
    | 'late'
    /** The provider ended the session. */
    | 'ended';
  readonly lost: bigint;
}

export const MAX_SYMBOLS = 50_000;
export const FORMER_SESSIONS = 16;

export function newFeed(): FeedState {
  return {
    session: null,
    lastSequence: null,
    livenessMs: null,
    lost: 0n,
    waitingSinceMs: null,
    ended: false,
    newestSourceTimeMs: Number.NEGATIVE_INFINITY,
    symbols: new Map(),
    certain: new Set(),
    formerSessions: [],
  };
}

/**
 * Since when, on the monotonic clock, the price cannot be trusted; null when no message can have been lost since it was
 * last stated in full.
 */
export function suspectSince(feed: FeedState, symbol: SymbolState): number | null {
  if (symbol.suspectSinceMs === null || feed.waitingSinceMs === null) {
    return symbol.suspectSinceMs ?? feed.waitingSinceMs;
  }
  return Math.min(symbol.suspectSinceMs, feed.waitingSinceMs);
}

/** Numbers are missing that may yet come: until `nothingIsMissing` no price is certain. */
export function awaitMissing(feed: FeedState, nowMs: number): void {
  feed.waitingSinceMs ??= nowMs;
}

/** What was missing has come, or was given up and is counted as lost. */
export function nothingIsMissing(feed: FeedState): void {
  feed.waitingSinceMs = null;
}

/** The number that comes next in the current session; null before the first. */
export function nextSequence(feed: FeedState): bigint | null {
  return feed.lastSequence === null ? null : feed.lastSequence + 1n;
}

/** `over`: it ended or was left, and nothing of it counts any more. */
export function standingOf(feed: FeedState, session: string): 'current' | 'new' | 'over' {
  if (session === feed.session) return feed.ended ? 'over' : 'current';
  return feed.formerSessions.includes(session) ? 'over' : 'new';
}

/** A tick or a snapshot. `nowMs` is the monotonic clock, here and below. */
export function applyQuote(feed: FeedState, rules: FeedRules, input: QuoteInput, nowMs: number): Effect {
  if (!enterSession(feed, input.session, nowMs)) return without('former_session');
  const restart = restartsNumbering(feed, input);
  if (isUsed(feed, input.sequence) && !restart) return without('repeat');
  if (restart) doubtAll(feed, nowMs);
  const lost = restart ? 0n : passOver(feed, input.firstSequence ?? input.sequence, nowMs);
  feed.lastSequence = input.sequence;
  showLife(feed, nowMs);
  feed.newestSourceTimeMs = restart
    ? input.sourceTimeMs
    : Math.max(feed.newestSourceTimeMs, input.sourceTimeMs);
  const kept = setPrice(feed, rules, input, nowMs);
  if (!kept) return { outcome: 'over_limit', lost };
  return { outcome: restart ? 'restart' : 'taken', lost };
}

/**
 * Some feeds begin their numbers again without a new session, with a snapshot. A snapshot that was merely overtaken
 * has a low number, too, and must not rewind anything: it is told apart by its stamp, which is not the newest.
 */
function restartsNumbering(feed: FeedState, input: QuoteInput): boolean {
  return (
    input.kind === 'snapshot' && isUsed(feed, input.sequence) && input.sourceTimeMs > feed.newestSourceTimeMs
  );
}

function setPrice(feed: FeedState, rules: FeedRules, input: QuoteInput, arrivedMs: number): boolean {
  const { bid, ask, sourceTimeMs, sequence } = input;
  let state = feed.symbols.get(input.symbol);
  if (state === undefined) {
    if (feed.symbols.size >= MAX_SYMBOLS) return false;
    state = { bid, ask, sourceTimeMs, arrivedMs, sequence, suspectSinceMs: arrivedMs };
    feed.symbols.set(input.symbol, state);
  } else {
    state.bid = bid;
    state.ask = ask;
    state.sourceTimeMs = sourceTimeMs;
    state.arrivedMs = arrivedMs;
    state.sequence = sequence;
  }
  const inFull = rules.kind === 'full' || input.kind === 'snapshot';
  if (inFull && state.suspectSinceMs !== null) {
    state.suspectSinceMs = null;
    feed.certain.add(state);
  }
  return true;
}

/**
 * A message with a number that is no quote. One that was not understood may have been a price, so every price is
 * doubted, and it is no sign of life: a provider that speaks another language is as good as silent.
 */
export function applyOther(
  feed: FeedState,
  input: Message & { readonly understood: boolean },
  nowMs: number,
): Effect {
  if (!enterSession(feed, input.session, nowMs)) return without('former_session');
  if (isUsed(feed, input.sequence)) return without('repeat');
  const lost = passOver(feed, input.firstSequence ?? input.sequence, nowMs);
  feed.lastSequence = input.sequence;
  if (!input.understood) {
    doubtAll(feed, nowMs);
    return { outcome: 'unread', lost };
  }
  if (lost === 0n) showLife(feed, nowMs);
  return { outcome: 'other', lost };
}

/** A heartbeat. It refreshes liveness only when it shows that nothing is missing. */
export function applyHeartbeat(feed: FeedState, rules: FeedRules, input: Numbered, nowMs: number): Effect {
  if (!enterSession(feed, input.session, nowMs)) return without('former_session');
  const consumes = rules.heartbeatSequence === 'consumes';
  const sent = rules.heartbeatSequence === 'next' ? input.sequence - 1n : input.sequence;
  // A number below the expected one is a heartbeat that was overtaken; it says nothing about now and never rewinds.
  if (consumes ? isUsed(feed, sent) : isUsed(feed, sent + 1n)) return without('late');
  const lost = passOver(feed, consumes ? sent : sent + 1n, nowMs);
  feed.lastSequence = sent;
  if (lost > 0n) return { outcome: 'gap', lost };
  showLife(feed, nowMs);
  return without('alive');
}

/**
 * The provider ends its session: nothing that it said is a price any more. `sequence` is the number that would have
 * come next. The end of a session that is not the current one ends nothing that is alive.
 */
export function applyEndOfSession(feed: FeedState, input: Numbered, nowMs: number): Effect {
  if (input.session !== feed.session) {
    retire(feed, input.session);
    return without('former_session');
  }
  if (feed.ended) return without('ended');
  const lost = passOver(feed, input.sequence, nowMs);
  feed.ended = true;
  doubtAll(feed, nowMs);
  return { outcome: 'ended', lost };
}

function without(outcome: Effect['outcome']): Effect {
  return { outcome, lost: 0n };
}

function isUsed(feed: FeedState, sequence: bigint): boolean {
  return feed.lastSequence !== null && sequence <= feed.lastSequence;
}

/** Counts what lies between the last number and `sequence`, and lets every price be doubted if that is anything. */
function passOver(feed: FeedState, sequence: bigint, nowMs: number): bigint {
  if (feed.lastSequence === null) return 0n;
  const lost = sequence - feed.lastSequence - 1n;
  if (lost <= 0n) return 0n;
  feed.lost += lost;
  doubtAll(feed, nowMs);
  return lost;
}

function doubtAll(feed: FeedState, nowMs: number): void {
  for (const symbol of feed.certain) symbol.suspectSinceMs = nowMs;
  feed.certain.clear();
}

/** What waited for a missing number is older than what filled the hole. */
function showLife(feed: FeedState, nowMs: number): void {
  if (feed.livenessMs === null || feed.livenessMs < nowMs) feed.livenessMs = nowMs;
}

/** False for a session that is over. A new one voids the numbering, and every price is doubted. */
function enterSession(feed: FeedState, session: string, nowMs: number): boolean {
  if (feed.session === session) return !feed.ended;
  if (feed.formerSessions.includes(session)) return false;
  if (feed.session !== null) {
    retire(feed, feed.session);
    doubtAll(feed, nowMs);
  }
  feed.session = session;
  feed.lastSequence = null;
  feed.newestSourceTimeMs = Number.NEGATIVE_INFINITY;
  feed.ended = false;
  return true;
}

function retire(feed: FeedState, session: string): void {
  if (feed.formerSessions.includes(session)) return;
  feed.formerSessions.push(session);
  if (feed.formerSessions.length > FORMER_SESSIONS) feed.formerSessions.shift();
}
