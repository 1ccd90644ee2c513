import { ProblemError } from './problem';

const MAX_DEPTH = 8;
/** Of a text that is valid JSON: its strings, and what opens, closes and divides. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g;

/**
 * Parses a body more strictly than `JSON.parse`: a member that stands twice is refused, since two readers of one body
 * could understand two orders. Numbers arrive as numbers, so that the contract can refuse them where decimals belong.
 * @throws {ProblemError} MALFORMED_JSON
 */
export function parseStrictJson(bytes: Buffer): unknown {
  const text = decodeUtf8(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : 'not JSON');
  }
  refuseDuplicateMembers(text);
  return value;
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw malformed('it is not UTF-8');
  }
}

function refuseDuplicateMembers(text: string): void {
  // One set of names for each object that is open; an array opens an empty one.
  const open: Set<string>[] = [];
  let lastString = '';
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') open.push(new Set());
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') addMember(open.at(-1), JSON.parse(lastString) as string);
    else lastString = token;
    if (open.length > MAX_DEPTH) throw malformed(`it is nested deeper than ${MAX_DEPTH} levels`);
  }
}

function addMember(members: Set<string> | undefined, name: string): void {
  if (members?.has(name) === true)
    throw malformed(`the member ${JSON.stringify(name)} stands more than once`);
  members?.add(name);
}

function malformed(detail: string): ProblemError {
  return new ProblemError('MALFORMED_JSON', `the body is not acceptable JSON: ${detail}`);
}
