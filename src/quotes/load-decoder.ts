import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { SYMBOL } from '../domain/ids';
import type { DecodedMessage, QuoteDecoder, QuoteMessage } from './decoder';
import { tekilQuoteDecoder } from './tekil-quote-message';

/** Raised at start when a decoder cannot be used; it says what would be right. */
export class DecoderError extends Error {
  override readonly name = 'DecoderError';
}

/** A fault becomes a label of a metric. */
const WORD = /^[a-z][a-z0-9_-]{0,31}$/;
const MAX_FAULTS = 16;
/** What Tekil itself finds wrong with an answer of a foreign decoder. */
const OWN_FAULTS = ['threw', 'unfit'];

/**
 * The decoder that `QUOTE_DECODER` names: `tekil`, or the path of a module that exports `decoder`, from the working
 * directory. A foreign decoder is not trusted: whatever it throws or returns becomes an answer that fits.
 * @throws {DecoderError} when there is no such module, or what it exports is no decoder
 */
export function loadDecoder(setting: string): QuoteDecoder {
  if (setting === 'tekil') return tekilQuoteDecoder;
  const path = resolve(setting);
  return guarded(checked(loadModule(path), path));
}

function loadModule(path: string): unknown {
  try {
    return createRequire(__filename)(path) as unknown;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DecoderError(
      `QUOTE_DECODER must be "tekil" or the path of a module; ${path} cannot be loaded: ${reason}`,
      { cause },
    );
  }
}

function checked(module: unknown, path: string): QuoteDecoder {
  const decoder = isObject(module) ? module['decoder'] : undefined;
  const fault = faultOf(decoder);
  if (fault !== undefined) throw new DecoderError(`QUOTE_DECODER: ${path} must export "decoder" ${fault}`);
  return decoder as QuoteDecoder;
}

/** What is wrong with a decoder, as the rest of a sentence that says what would be right. */
function faultOf(decoder: unknown): string | undefined {
  if (!isObject(decoder)) return 'as an object { faults, decode }';
  const { faults, decode } = decoder;
  if (typeof decode !== 'function') return 'with a function decode(message)';
  if (!Array.isArray(faults) || !faults.every(isWord) || faults.length > MAX_FAULTS) {
    return `with a list of at most ${MAX_FAULTS} faults that match ${WORD.source}`;
  }
  const taken = faults.find((fault) => OWN_FAULTS.includes(fault));
  return taken === undefined ? undefined : `without the fault "${taken}", which is Tekil's own`;
}

function guarded(decoder: QuoteDecoder): QuoteDecoder {
  const faults = [...decoder.faults];
  return {
    faults: [...faults, ...OWN_FAULTS],
    decode: (message) => {
      try {
        const answer: unknown = decoder.decode(message);
        return isFitting(answer, faults) ? answer : { kind: 'unread', fault: 'unfit' };
      } catch {
        return { kind: 'unread', fault: 'threw' };
      }
    },
  };
}

function isFitting(answer: unknown, faults: readonly string[]): answer is DecodedMessage {
  if (!isObject(answer)) return false;
  switch (answer['kind']) {
    case 'no_quote':
      return true;
    case 'unread':
      return faults.includes(answer['fault'] as string);
    case 'tick':
    case 'snapshot':
      return isQuote(answer);
    default:
      return false;
  }
}

function isQuote(answer: Partial<Record<keyof QuoteMessage, unknown>>): boolean {
  const { symbol, bid, ask, sourceTimeMs } = answer;
  return typeof symbol === 'string' && SYMBOL.test(symbol) && [bid, ask, sourceTimeMs].every(Number.isFinite);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && WORD.test(value);
}
