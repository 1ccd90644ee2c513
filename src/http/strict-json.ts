import { isUtf8 } from 'node:buffer';
import { ProblemError } from './problem';

/** An order is flat; whatever is nested deeper than this is not one. */
export const MAX_DEPTH = 8;

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Parses a body more strictly than `JSON.parse`: a member that stands twice is refused, since two readers of one body
 * could understand two orders. Numbers arrive as numbers, so that the contract can refuse them where decimals belong.
 * @throws {ProblemError} MALFORMED_JSON
 */
export function parseStrictJson(bytes: Buffer): unknown {
  // JSON.parse would read the replacement character where the bytes are no text.
  if (!isUtf8(bytes)) throw malformed('it is not UTF-8');
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : 'it cannot be read');
  }
  checkMembers(text);
  return value;
}

/** One walk over a text that is known to be JSON. */
function checkMembers(text: string): void {
  // The names of each object that is open; an array holds none.
  const open: Set<string>[] = [];
  let lastString = '';
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        lastString = text.slice(at, end);
        at = end - 1;
        break;
      }
      case COLON:
        addMember(open.at(-1), lastString);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        open.push(new Set());
        if (open.length > MAX_DEPTH) throw malformed(`it is nested deeper than ${MAX_DEPTH} levels`);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop();
    }
  }
}

/** The index after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

function addMember(members: Set<string> | undefined, quoted: string): void {
  // Two spellings of one name, "a" and "\u0061", are one member.
  const name = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  if (members?.has(name) === true)
    throw malformed(`the member ${JSON.stringify(name)} stands more than once`);
  members?.add(name);
}

function malformed(detail: string): ProblemError {
  return new ProblemError('MALFORMED_JSON', `the body is not acceptable JSON: ${detail}`);
}
