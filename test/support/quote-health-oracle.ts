/**
 * A slow and obvious model of quote health, written from the table in docs/quote-feed.md and from nothing else: it
 * ticks off every single number, remembers every doubt and every full price by the input that brought it, and works in
 * plain numbers. It forgets nothing, so feed it short histories.
 */
export interface OracleRules {
  readonly kind: 'full' | 'delta';
  readonly heartbeatSequence: 'next' | 'last' | 'consumes';
}

export type OracleInput =
  | {
      readonly type: 'tick' | 'snapshot';
      readonly session: string;
      readonly sequence: number;
      readonly symbol: string;
      readonly sourceTimeMs: number;
    }
  | { readonly type: 'heartbeat' | 'end'; readonly session: string; readonly sequence: number }
  | {
      readonly type: 'other';
      readonly session: string;
      readonly sequence: number;
      readonly understood: boolean;
    };

export class QuoteHealthOracle {
  readonly #rules: OracleRules;
  readonly #closedSessions = new Set<string>();
  /** Of each number that somebody has told us about: did it arrive? Numbers below the first are nobody's business. */
  #numbers = new Map<number, 'arrived' | 'lost' | 'before us'>();
  #stamps: number[] = [];
  #input = 0;
  readonly #doubts: { readonly input: number; readonly atMs: number }[] = [];
  readonly #fullPrices = new Map<string, number>();
  /** When each symbol was seen first. */
  readonly #symbols = new Map<string, number>();

  session: string | null = null;
  lost = 0;
  livenessMs: number | null = null;

  constructor(rules: OracleRules) {
    this.#rules = rules;
  }

  /** The highest number that is ticked off. */
  get last(): number | null {
    return this.#numbers.size === 0 ? null : Math.max(...this.#numbers.keys());
  }

  /** For each symbol: when was the first doubt since its price was last stated in full? Null: never. */
  get suspectSince(): Record<string, number | null> {
    return Object.fromEntries(
      [...this.#symbols].map(([symbol, firstSeenMs]) => {
        const stated = this.#fullPrices.get(symbol);
        if (stated === undefined) return [symbol, firstSeenMs];
        return [symbol, this.#doubts.find(({ input }) => input > stated)?.atMs ?? null];
      }),
    );
  }

  /** Returns how many messages this input showed to be lost. */
  take(input: OracleInput, nowMs: number): number {
    this.#input += 1;
    if (input.type === 'end') return this.#end(input.session, input.sequence, nowMs);
    if (this.#closedSessions.has(input.session)) return 0;
    if (this.session !== input.session) this.#begin(input.session, nowMs);
    switch (input.type) {
      case 'heartbeat':
        return this.#heartbeat(input.sequence, nowMs);
      case 'other':
        return this.#other(input.sequence, input.understood, nowMs);
      case 'tick':
      case 'snapshot':
        return this.#quote(input, nowMs);
    }
  }

  #begin(session: string, nowMs: number): void {
    if (this.session !== null) {
      this.#closedSessions.add(this.session);
      this.#doubt(nowMs);
    }
    this.session = session;
    this.#numbers = new Map();
    this.#stamps = [];
  }

  #quote(input: Extract<OracleInput, { symbol: string }>, nowMs: number): number {
    let lost = 0;
    if (this.#isBehind(input.sequence)) {
      const newest = this.#stamps.every((stamp) => input.sourceTimeMs > stamp);
      if (input.type === 'tick' || !newest) return 0;
      this.#numbers = new Map();
      this.#stamps = [];
      this.#doubt(nowMs);
    } else lost = this.#loseUpTo(input.sequence - 1, nowMs);
    this.#numbers.set(input.sequence, 'arrived');
    this.#stamps.push(input.sourceTimeMs);
    this.livenessMs = nowMs;
    if (!this.#symbols.has(input.symbol)) this.#symbols.set(input.symbol, nowMs);
    // A price comes after the doubt that the same message raised.
    if (this.#rules.kind === 'full' || input.type === 'snapshot') {
      this.#fullPrices.set(input.symbol, this.#input + 0.5);
    }
    return lost;
  }

  #other(sequence: number, understood: boolean, nowMs: number): number {
    if (this.#isBehind(sequence)) return 0;
    const lost = this.#loseUpTo(sequence - 1, nowMs);
    this.#numbers.set(sequence, 'arrived');
    if (!understood) this.#doubt(nowMs);
    else if (lost === 0) this.livenessMs = nowMs;
    return lost;
  }

  #heartbeat(sequence: number, nowMs: number): number {
    const meaning = this.#rules.heartbeatSequence;
    const sent = meaning === 'next' ? sequence - 1 : sequence;
    const first = this.#numbers.size === 0;
    const overtaken = meaning === 'consumes' ? this.#isBehind(sent) : this.#isBehind(sent + 1);
    if (overtaken) return 0;
    const lost = this.#loseUpTo(meaning === 'consumes' ? sent - 1 : sent, nowMs);
    if (meaning === 'consumes') this.#numbers.set(sent, 'arrived');
    else if (first) this.#numbers.set(sent, 'before us');
    if (lost === 0) this.livenessMs = nowMs;
    return lost;
  }

  #end(session: string, sequence: number, nowMs: number): number {
    const ends = session === this.session && !this.#closedSessions.has(session);
    this.#closedSessions.add(session);
    if (!ends) return 0;
    const lost = this.#loseUpTo(sequence - 1, nowMs);
    this.#doubt(nowMs);
    return lost;
  }

  #isBehind(sequence: number): boolean {
    return this.last !== null && sequence <= this.last;
  }

  /** Ticks off every number from the first known one to `upTo` that is not ticked off yet. */
  #loseUpTo(upTo: number, nowMs: number): number {
    if (this.#numbers.size === 0) return 0;
    let missing = 0;
    for (let number = Math.min(...this.#numbers.keys()); number <= upTo; number += 1) {
      if (this.#numbers.has(number)) continue;
      this.#numbers.set(number, 'lost');
      missing += 1;
    }
    this.lost += missing;
    if (missing > 0) this.#doubt(nowMs);
    return missing;
  }

  #doubt(atMs: number): void {
    this.#doubts.push({ input: this.#input, atMs });
  }
}
