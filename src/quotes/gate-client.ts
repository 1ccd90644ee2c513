import { gateVerdict, type GateVerdict } from '../contracts/quote-gate';
import { GateAddresses, type GateInstance, type LookUp } from './gate-addresses';
import { GateConnections, LateAnswerError, UnsoundAnswerError, type GateRequest } from './gate-request';

/** The gate gave no verdict. It never means "open": nothing opens until the gate has said so. */
export class GateUnavailableError extends Error {
  override readonly name = 'GateUnavailableError';
}

export interface GateClient {
  /** @throws {GateUnavailableError} when there is no sound verdict within the deadline; its message says why. */
  readonly askGate: (symbol: string) => Promise<GateVerdict>;
}

export interface GateClientOptions {
  /** One address, or several with commas between them; a name may stand for several instances. */
  readonly url: string;
  /** For the whole ask, however many instances are asked in it. */
  readonly timeoutMs: number;
  /** Hears when another instance answers from now on, and why. */
  readonly onFailover?: (change: Failover) => void;
  /** For tests. */
  readonly lookUp?: LookUp;
}

export interface Failover {
  readonly from: string;
  readonly to: string;
  /** What the other instances did in this ask, those that had not answered yet left out. */
  readonly because: readonly string[];
}

/**
 * Asks a quote gate over HTTP on kept-alive connections. Of several instances the one that answered last is asked first;
 * the next one is asked when that fails, or has used up its share of the time. The first sound verdict is the verdict:
 * "closed" by an instance that lives is final for this ask, and answers are never put together.
 * @throws when `url` holds something that is no URL
 */
export function createGateClient(options: GateClientOptions): GateClient {
  const { timeoutMs } = options;
  const addresses = new GateAddresses(options.url, options.lookUp);
  const connections = new GateConnections();
  let answering: string | undefined;
  return {
    askGate: async (symbol) => {
      const path = `/v1/gate/${encodeURIComponent(symbol)}`;
      const instances = preferredFirst(addresses.instances(), answering);
      const { verdict, by, failures } = await firstVerdict(instances, timeoutMs, (instance, leftMs) => {
        const { answer, cancel } = connections.get(instance, path, leftMs);
        return { answer: answer.then((body) => soundVerdict(body, symbol)), cancel };
      });
      const from = instances[0]?.label;
      answering = by.label;
      if (from !== undefined && from !== by.label) {
        options.onFailover?.({ from, to: by.label, because: failures });
      }
      return verdict;
    },
  };
}

function preferredFirst(
  instances: readonly GateInstance[],
  label: string | undefined,
): readonly GateInstance[] {
  const preferred = instances.find((instance) => instance.label === label);
  if (preferred === undefined) return instances;
  return [preferred, ...instances.filter((instance) => instance !== preferred)];
}

interface Outcome {
  readonly verdict: GateVerdict;
  readonly by: GateInstance;
  readonly failures: readonly string[];
}

interface Ask extends GateRequest {
  readonly answer: Promise<GateVerdict>;
}

/** Asks one after the other, each when those before it have failed or had their share of the time. */
function firstVerdict(
  instances: readonly GateInstance[],
  timeoutMs: number,
  ask: (instance: GateInstance, leftMs: number) => Ask,
): Promise<Outcome> {
  const endsAtMs = performance.now() + timeoutMs;
  const shareMs = timeoutMs / instances.length;
  const waiting = [...instances];
  const asked: Ask[] = [];
  const failures: string[] = [];
  return new Promise<Outcome>((resolve, reject) => {
    let nextTurn: NodeJS.Timeout | undefined;
    const askNext = (): void => {
      clearTimeout(nextTurn);
      const instance = waiting.shift();
      if (instance === undefined) return;
      if (waiting.length > 0) nextTurn = setTimeout(askNext, shareMs);
      const request = ask(instance, endsAtMs - performance.now());
      asked.push(request);
      request.answer.then(
        (verdict) => {
          clearTimeout(nextTurn);
          resolve({ verdict, by: instance, failures: [...failures] });
          for (const other of asked) if (other !== request) other.cancel();
        },
        (error: unknown) => {
          failures.push(`${instance.label} ${described(error)}`);
          if (failures.length === instances.length) reject(unavailable(failures, error));
          else askNext();
        },
      );
    };
    askNext();
  });
}

function unavailable(failures: readonly string[], cause: unknown): GateUnavailableError {
  const [first = ''] = failures;
  const message =
    failures.length === 1
      ? `the quote gate at ${first}`
      : `no quote gate gave a verdict: the one at ${failures.join('; the one at ')}`;
  return new GateUnavailableError(message, { cause });
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

function described(error: unknown): string {
  if (error instanceof UnsoundAnswerError || error instanceof LateAnswerError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED') return 'refused the connection';
  return `could not be asked: ${message}`;
}
