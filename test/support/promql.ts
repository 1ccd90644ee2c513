/** What an expression reads of one metric. */
export interface Selector {
  readonly metric: string;
  /** The labels of its matchers, between the braces. */
  readonly labels: readonly string[];
}

export interface ReadByExpression {
  readonly selectors: readonly Selector[];
  /** The labels of `by`, `without`, `on`, `ignoring` and `group_left`. */
  readonly groupings: readonly string[];
}

const TOKEN = /"(?:[^"\\]|\\.)*"|\$\w+|\d[\w.]*|[a-zA-Z_:][\w:]*|[^\s]/g;
const NAME = /^[a-zA-Z_:]/;
const WITH_LABEL_LIST = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);
const OPERATORS = new Set(['and', 'or', 'unless', 'offset', 'bool']);

/**
 * Finds the metrics and labels that a PromQL expression reads. It trusts the grammar, which promtool checks where it is
 * found: a name is a metric unless it is an operator, a function with its bracket, or an aggregation with its labels.
 */
export function readByExpression(expression: string): ReadByExpression {
  const tokens = expression.match(TOKEN) ?? [];
  const selectors: Selector[] = [];
  const groupings: string[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at]!;
    if (token === '{') throw new Error(`a selector without the name of a metric in ${expression}`);
    if (!NAME.test(token) || OPERATORS.has(token)) continue;
    const list = listBehind(tokens, at);
    if (WITH_LABEL_LIST.has(token)) groupings.push(...list.filter((each) => NAME.test(each)));
    else if (isCalled(tokens, at)) continue;
    else selectors.push({ metric: token, labels: list.filter((each) => NAME.test(each)) });
    if (list.length > 0) at += list.length + 2;
  }
  return { selectors, groupings };
}

/** A function, or an aggregation, of which the labels may stand before the bracket. */
function isCalled(tokens: readonly string[], at: number): boolean {
  return ['(', 'by', 'without'].includes(tokens[at + 1] ?? '');
}

/** The tokens between the brackets that open behind this place: of a selector, or of a list of labels. */
function listBehind(tokens: readonly string[], at: number): readonly string[] {
  const close = { '{': '}', '(': ')' }[tokens[at + 1] ?? ''];
  return close === undefined ? [] : tokens.slice(at + 2, tokens.indexOf(close, at));
}
