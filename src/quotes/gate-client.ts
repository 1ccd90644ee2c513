import { gateVerdict, type GateVerdict } from '../contracts/quote-gate';

/** The gate gave no verdict. It never means "open": nothing opens until the gate has said so. */
export class GateUnavailableError extends Error {
  override readonly name = 'GateUnavailableError';
}

export interface GateClient {
  /** @throws {GateUnavailableError} when there is no sound verdict within the deadline; its message says why. */
  readonly askGate: (symbol: string) => Promise<GateVerdict>;
}

/** Asks a quote gate over HTTP on kept-alive connections. `timeoutMs` bounds the whole round trip. */
export function createGateClient(options: { readonly url: string; readonly timeoutMs: number }): GateClient {
  const { timeoutMs } = options;
  const url = options.url.replace(/\/+$/, '');
  return {
    askGate: async (symbol) => {
      try {
        return soundVerdict(await get(`${url}/v1/gate/${encodeURIComponent(symbol)}`, timeoutMs), symbol);
      } catch (error) {
        throw new GateUnavailableError(`the quote gate at ${url} ${described(error, timeoutMs)}`, {
          cause: error,
        });
      }
    },
  };
}

/** The gate answered with something that is no verdict. */
class UnsoundAnswerError extends Error {
  override readonly name = 'UnsoundAnswerError';
}

async function get(address: string, timeoutMs: number): Promise<unknown> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(address, { signal, redirect: 'error' });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new UnsoundAnswerError(`answered ${response.status}`);
  }
  const body = await response.text();
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new UnsoundAnswerError('answered with something that is not JSON', { cause: error });
  }
}

/** The answer to another question, a closed gate without its reason, or an open one without its evidence is none. */
function soundVerdict(body: unknown, symbol: string): GateVerdict {
  const { success, data, error } = gateVerdict.safeParse(body);
  if (!success) throw new UnsoundAnswerError('answered with something that is no verdict', { cause: error });
  if (data.symbol !== symbol) throw new UnsoundAnswerError(`answered for ${data.symbol}, not for ${symbol}`);
  const closedForCause = data.verdict === 'closed' && data.code !== undefined;
  if (!closedForCause && !isOpenWithEvidence(data)) {
    throw new UnsoundAnswerError(`answered ${data.verdict} without the evidence for it`);
  }
  return data;
}

function isOpenWithEvidence(data: GateVerdict): boolean {
  const evidence = [
    data.silenceMs,
    data.sourceAgeMs,
    data.clockOffsetMs,
    data.lastSequence,
    data.bid,
    data.ask,
  ];
  return data.verdict === 'open' && data.code === undefined && !data.suspect && !evidence.includes(null);
}

/** Errors of `fetch` are read by their shape: they may belong to another realm, whose classes are not ours. */
interface ErrorShape {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
}

function described(error: unknown, timeoutMs: number): string {
  if (error instanceof UnsoundAnswerError) return error.message;
  const { name, cause } = shapeOf(error);
  if (name === 'TimeoutError') return `did not answer within ${timeoutMs} ms`;
  const { code, message } = shapeOf(cause ?? error);
  if (code === 'ECONNREFUSED') return 'refused the connection';
  return `could not be asked: ${String(message)}`;
}

function shapeOf(error: unknown): ErrorShape {
  return typeof error === 'object' && error !== null ? error : { message: error };
}
