import { DefaultLogger, Runtime, type LogEntry } from '@temporalio/worker';
import type { Logger } from '../observability/logger';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** Sends the SDK's own logs through ours, and leaves the signals to us. Once a process, before any connection. */
export function installRuntime(logger: Logger): void {
  const sdk = logger.child({ part: 'temporal-sdk' });
  Runtime.install({
    logger: new DefaultLogger('WARN', (entry: LogEntry) => {
      sdk[LEVELS[entry.level]](entry.meta ?? {}, entry.message);
    }),
    shutdownSignals: [],
  });
}
