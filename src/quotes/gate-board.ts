import type { GateBoard, GateVerdict } from '../contracts/quote-gate';
import type { BoardView } from './gate-query';
import type { FeedHealth, QuoteSource } from './quote-source';

/**
 * What is known at one moment. Several may look at it, at different parts: the names are sorted once and a symbol is
 * judged once, and only if somebody looks at it, so that a gate of ten thousand symbols has time for orders.
 */
export class BoardSnapshot {
  readonly #source: QuoteSource;
  readonly #looks = new Map<string, GateVerdict>();
  #names: readonly Name[] | undefined;
  #feeds: readonly FeedHealth[] | undefined;

  constructor(source: QuoteSource) {
    this.#source = source;
  }

  view({ filter, after, limit }: BoardView): GateBoard {
    const names = (this.#names ??= this.#source.symbols().map(withUpperCase));
    const matching = filter === '' ? names : names.filter(({ upperCase }) => upperCase.includes(filter));
    const begin = after === '' ? 0 : firstAfter(matching, after);
    const shown = matching.slice(begin, begin + limit);
    const feeds = (this.#feeds ??= this.#source.feeds());
    return {
      feeds: feeds.map(({ lines, ...feed }) => ({ ...feed, lines: [...lines] })),
      symbols: shown.map(({ symbol }) => this.#look(symbol)),
      matching: matching.length,
      next: begin + limit < matching.length ? (shown.at(-1)?.symbol ?? null) : null,
    };
  }

  #look(symbol: string): GateVerdict {
    const known = this.#looks.get(symbol);
    if (known !== undefined) return known;
    const verdict = this.#source.look(symbol);
    this.#looks.set(symbol, verdict);
    return verdict;
  }
}

interface Name {
  readonly symbol: string;
  readonly upperCase: string;
}

function withUpperCase(symbol: string): Name {
  return { symbol, upperCase: symbol.toUpperCase() };
}

/** They are sorted by code units, and that is how texts are compared here. */
function firstAfter(sorted: readonly Name[], after: string): number {
  const index = sorted.findIndex(({ symbol }) => symbol > after);
  return index === -1 ? sorted.length : index;
}
