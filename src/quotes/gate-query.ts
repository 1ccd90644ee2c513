/** Longer than any feed's symbols; what is longer is no symbol. */
export const MAX_SYMBOL_CHARACTERS = 64;
/** One answer must stay small beside the orders that are waiting for theirs. */
export const MAX_SYMBOLS_PER_ASK = 100;
export const MAX_SYMBOLS_PER_PART = 200;
const DEFAULT_SYMBOLS_PER_PART = 100;

/** Which part of the symbols somebody looks at. */
export interface BoardView {
  /** In upper case; symbols that contain it are shown. */
  readonly filter: string;
  /** Only symbols that sort after this one. */
  readonly after: string;
  readonly limit: number;
}

/** Raised for a query that cannot be answered; the message says what would be right. */
export class QueryError extends Error {
  override readonly name = 'QueryError';
}

/**
 * The symbols of `?symbol=…&symbol=…`, each once.
 * @throws {QueryError}
 */
export function askedSymbols(query: URLSearchParams): readonly string[] {
  refuseOthers(query, ['symbol']);
  const symbols = new Set(query.getAll('symbol'));
  if (symbols.size === 0) throw new QueryError('name at least one symbol: /v1/gate?symbol=EURUSD');
  if (symbols.size > MAX_SYMBOLS_PER_ASK) {
    throw new QueryError(
      `symbol: ask for at most ${MAX_SYMBOLS_PER_ASK} symbols at once, not ${symbols.size}`,
    );
  }
  for (const symbol of symbols) {
    if (symbol === '' || symbol.length > MAX_SYMBOL_CHARACTERS) {
      throw new QueryError(`symbol: each must have 1 to ${MAX_SYMBOL_CHARACTERS} characters`);
    }
  }
  return [...symbols];
}

/**
 * The view of `?filter=…&after=…&limit=…`, all of which may be left out.
 * @throws {QueryError}
 */
export function boardView(query: URLSearchParams): BoardView {
  refuseOthers(query, ['filter', 'after', 'limit']);
  return {
    filter: shortText(query, 'filter').toUpperCase(),
    after: shortText(query, 'after'),
    limit: limitOf(query.get('limit')),
  };
}

function refuseOthers(query: URLSearchParams, known: readonly string[]): void {
  for (const name of query.keys()) {
    if (!known.includes(name)) throw new QueryError(`${name} is not known here, only ${known.join(', ')}`);
  }
}

function shortText(query: URLSearchParams, name: string): string {
  const text = query.get(name) ?? '';
  if (text.length > MAX_SYMBOL_CHARACTERS) {
    throw new QueryError(`${name}: must have at most ${MAX_SYMBOL_CHARACTERS} characters`);
  }
  return text;
}

function limitOf(text: string | null): number {
  if (text === null) return DEFAULT_SYMBOLS_PER_PART;
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > MAX_SYMBOLS_PER_PART) {
    throw new QueryError(`limit: must be a whole number from 1 to ${MAX_SYMBOLS_PER_PART}`);
  }
  return limit;
}
