import { join, resolve } from 'node:path';
import { invitationText } from './invitation';
import { TekilSystem } from './system';

export interface StartOptions {
  readonly dataDir: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Stop when the process that started this one is gone: nobody could press Ctrl-C any more. */
  readonly endWithParent: boolean;
}

const PARENT_POLL_INTERVAL_MS = 500;

/** `npm start`: runs the whole system until a signal asks it to stop. @returns the exit code. */
export async function runTekil(options: StartOptions): Promise<number> {
  const end = endOf(options.endWithParent);
  const tekil = new TekilSystem({
    dataDir: resolve(options.dataDir),
    environment: options.environment,
    say: (text) => {
      console.log(`tekil: ${text}`);
    },
    onGivenUp: () => {
      end.now(1);
    },
  });
  tekil.start().then(
    ({ system, apiKey }) => {
      const text = invitationText({
        apiUrl: system.apiUrl,
        apiKey,
        temporalUiUrl: system.temporalUiUrl,
        logFolder: join(resolve(options.dataDir), 'logs'),
        orderSuffix: Date.now().toString(36),
      });
      console.log(text);
    },
    (error: unknown) => {
      if (end.isNear()) return;
      console.error(`tekil: could not start: ${error instanceof Error ? error.message : String(error)}`);
      end.now(1);
    },
  );
  const code = await end.code;
  console.log('tekil: stopping');
  await tekil.stop();
  console.log('tekil: stopped');
  return code;
}

/**
 * What ends the run: a signal, a failure, or the end of the parent. One Ctrl-C under npm comes twice, from the terminal
 * and passed on by npm; a third signal ends this process at once, and what it leaves is stopped by the next start.
 */
function endOf(endWithParent: boolean): {
  readonly code: Promise<number>;
  readonly now: (code: number) => void;
  readonly isNear: () => boolean;
} {
  let near = false;
  let resolveCode: (code: number) => void = () => undefined;
  const code = new Promise<number>((resolvePromise) => {
    resolveCode = resolvePromise;
  });
  const now = (exitCode: number): void => {
    near = true;
    resolveCode(exitCode);
  };
  let signals = 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      signals += 1;
      if (signals > 2) process.exit(130);
      now(0);
    });
  }
  if (endWithParent) {
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) now(0);
    }, PARENT_POLL_INTERVAL_MS).unref();
  }
  return { code, now, isNear: () => near };
}
