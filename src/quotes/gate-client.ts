import { gateVerdict, type GateVerdict } from '../contracts/quote-gate';

/** The gate gave no verdict. It never means "open": nothing opens until the gate has said so. */
export class GateUnavailableError extends Error {
  override readonly name = 'GateUnavailableError';
}

export interface GateClient {
  /** @throws {GateUnavailableError} when there is no verdict within the deadline */
  readonly askGate: (symbol: string) => Promise<GateVerdict>;
}

/** Asks a quote gate over HTTP on kept-alive connections. */
export function createGateClient(options: { readonly url: string; readonly timeoutMs: number }): GateClient {
  const { url, timeoutMs } = options;
  return {
    askGate: async (symbol) => {
      const body = await get(`${url}/v1/gate/${encodeURIComponent(symbol)}`, timeoutMs, url);
      const parsed = gateVerdict.safeParse(body);
      // The answer to another question, or a closed gate without its reason, is no verdict.
      const sound = parsed.success && parsed.data.symbol === symbol;
      if (!sound || (parsed.data.verdict === 'closed') !== (parsed.data.code !== undefined)) {
        throw new GateUnavailableError(`the quote gate at ${url} answered with something that is no verdict`);
      }
      return parsed.data;
    },
  };
}

async function get(address: string, timeoutMs: number, gate: string): Promise<unknown> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new GateUnavailableError(`the quote gate at ${gate} answered ${response.status}`);
    return await response.json();
  } catch (error) {
    if (error instanceof GateUnavailableError) throw error;
    throw new GateUnavailableError(`the quote gate at ${gate} ${describe(error, timeoutMs)}`, {
      cause: error,
    });
  }
}

function describe(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `did not answer within ${timeoutMs} ms`;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return `could not be asked: ${cause instanceof Error ? cause.message : String(cause)}`;
}
