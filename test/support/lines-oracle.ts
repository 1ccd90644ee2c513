/**
 * A slow and obvious model of two lines that carry the same numbers, written from docs/quote-feed.md: it keeps every
 * number that ever came, with its time, and asks at each moment afresh what of it may be told.
 */
export class LinesOracle {
  readonly #windowMs: number;
  readonly #maxSilenceMs: number;
  readonly #arrivals = new Map<number, number>();
  readonly #heartbeats: { readonly next: number; readonly atMs: number }[] = [];
  readonly #passed = [0, 0];
  readonly #heardMs: (number | null)[] = [null, null];
  readonly delivered: number[] = [];
  lost = 0;
  #next: number | null = null;

  constructor(windowMs: number, maxSilenceMs: number) {
    this.#windowMs = windowMs;
    this.#maxSilenceMs = maxSilenceMs;
  }

  message(line: 0 | 1, number: number, atMs: number): void {
    this.#hear(line, number + 1, atMs);
    this.#next ??= number;
    if (!this.#arrivals.has(number)) this.#arrivals.set(number, atMs);
    this.pass(atMs);
  }

  /** A heartbeat says which number comes next. */
  heartbeat(line: 0 | 1, next: number, atMs: number): void {
    this.#hear(line, next, atMs);
    this.#next ??= next;
    this.#heartbeats.push({ next, atMs });
    this.pass(atMs);
  }

  pass(nowMs: number): void {
    while (this.#next !== null) {
      const next = this.#next;
      if (this.#arrivals.has(next)) this.delivered.push(next);
      else if (this.#isLost(next, nowMs)) this.lost += 1;
      else return;
      this.#next = next + 1;
    }
  }

  /** Is it known to have been sent, and can it still come? */
  #isLost(number: number, nowMs: number): boolean {
    const later = [
      ...[...this.#arrivals].filter(([other]) => other > number).map(([, atMs]) => atMs),
      ...this.#heartbeats.filter(({ next }) => next > number).map(({ atMs }) => atMs),
    ];
    if (later.length === 0) return false;
    if (nowMs - Math.min(...later) >= this.#windowMs) return true;
    return [0, 1].every((line) => {
      const heardMs = this.#heardMs[line] ?? null;
      const lives = heardMs !== null && nowMs - heardMs <= this.#maxSilenceMs;
      return !lives || (this.#passed[line] ?? 0) > number;
    });
  }

  #hear(line: 0 | 1, next: number, atMs: number): void {
    this.#heardMs[line] = atMs;
    this.#passed[line] = Math.max(this.#passed[line] ?? 0, next);
  }
}
