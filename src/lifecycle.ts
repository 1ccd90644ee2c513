import type { Logger } from './observability/logger';

/** A part of a process that is started once and stopped once. */
export interface Part {
  readonly name: string;
  readonly stop: () => Promise<void>;
}

/**
 * The parts of a process in the order in which they were started. They stop in reverse, each within a deadline, so
 * that what depends on a server lets go of it before the connection closes.
 */
export class Lifecycle {
  readonly #logger: Logger;
  readonly #stopTimeoutMs: number;
  readonly #parts: Part[] = [];
  #stopping: Promise<void> | undefined;

  constructor(logger: Logger, stopTimeoutMs = 10_000) {
    this.#logger = logger;
    this.#stopTimeoutMs = stopTimeoutMs;
  }

  started(name: string, stop: () => Promise<void>): void {
    this.#parts.push({ name, stop });
  }

  /** Stops every part, once; a part that fails or takes too long is logged and does not hold up the others. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    for (const part of this.#parts.toReversed()) {
      try {
        await withDeadline(part.stop(), this.#stopTimeoutMs, `stopping ${part.name}`);
        this.#logger.info({ part: part.name }, 'stopped');
      } catch (error) {
        this.#logger.error({ part: part.name, err: error }, 'could not be stopped cleanly');
      }
    }
  }
}

/** Raised when something took longer than its named bound. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** The promise's own outcome, or a DeadlineError after `timeoutMs`. The work itself is not cancelled. */
export async function withDeadline<T>(work: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new DeadlineError(`${what} took longer than ${timeoutMs} ms`));
    }, timeoutMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs a process: starts its parts, waits for SIGINT or SIGTERM (or for `failed`), stops, exits.
 * A second signal ends the process at once. A start that fails stops what had started and exits with 1.
 */
export async function runProcess(
  logger: Logger,
  start: (lifecycle: Lifecycle, fail: (error: unknown) => void) => Promise<void>,
): Promise<void> {
  const lifecycle = new Lifecycle(logger);
  let fail: (error: unknown) => void = () => undefined;
  const ended = new Promise<number>((resolve) => {
    fail = (error) => {
      logger.fatal({ err: error }, 'the process cannot go on');
      resolve(1);
    };
    let signals = 0;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        signals += 1;
        if (signals > 1) process.exit(130);
        logger.info({ signal }, 'stopping');
        resolve(0);
      });
    }
  });
  try {
    await start(lifecycle, fail);
    logger.info('ready');
  } catch (error) {
    fail(error);
  }
  const code = await ended;
  await lifecycle.stop();
  process.exit(code);
}
