import type { Metrics } from '../observability/metrics';

/** Counts by one label, in memory. */
type Tally = Map<string, { count: number }>;

function add(tally: Tally, key: string, count: number): void {
  const entry = tally.get(key);
  if (entry === undefined) tally.set(key, { count });
  else entry.count += count;
}

/** Empties a tally: each count goes to `hand`, once. */
function empty(tally: Tally, hand: (key: string, count: number) => void): void {
  for (const [key, entry] of tally) {
    if (entry.count > 0) hand(key, entry.count);
    entry.count = 0;
  }
}

/**
 * What becomes of the packets and messages of a feed. A counter with labels costs more than the parsing of a packet, so
 * these are tallied here and handed over when the metrics are read. The keys are few: outcomes, and names of lines.
 */
export class FeedCounters {
  readonly #feed: string;
  readonly #packets: Tally = new Map();
  readonly #ticks: Tally = new Map();
  readonly #heartbeats: Tally = new Map();
  readonly #lines: readonly { readonly line: string; readonly tally: Tally }[];
  #lost = 0;

  /** `lines`: their names, in the order in which `line` counts them. */
  constructor(feed: string, lines: readonly string[], metrics: Metrics) {
    this.#feed = feed;
    this.#lines = lines.map((line) => ({ line, tally: new Map() }));
    metrics.beforeQuotesAreRead(() => {
      this.#handOver(metrics);
    });
  }

  /** A datagram was received. */
  packet(outcome: string): void {
    add(this.#packets, outcome, 1);
  }

  /** A line brought something. */
  line(index: number, outcome: string): void {
    const at = this.#lines[index];
    if (at !== undefined) add(at.tally, outcome, 1);
  }

  ticks(outcome: string, count: number): void {
    add(this.#ticks, outcome, count);
  }

  heartbeat(outcome: string): void {
    add(this.#heartbeats, outcome, 1);
  }

  lost(count: bigint): void {
    if (count > 0n) this.#lost += Number(count);
  }

  #handOver(metrics: Metrics): void {
    const feed = this.#feed;
    empty(this.#packets, (outcome, count) => {
      metrics.quotePackets.inc({ feed, outcome }, count);
    });
    empty(this.#ticks, (outcome, count) => {
      metrics.quoteTicks.inc({ feed, outcome }, count);
    });
    empty(this.#heartbeats, (outcome, count) => {
      metrics.quoteHeartbeats.inc({ feed, outcome }, count);
    });
    for (const { line, tally } of this.#lines) {
      empty(tally, (outcome, count) => {
        metrics.quoteLinePackets.inc({ feed, line, outcome }, count);
      });
    }
    if (this.#lost > 0) metrics.quoteTicksLost.inc({ feed }, this.#lost);
    this.#lost = 0;
  }
}
