import { isIP } from 'node:net';
import { DefaultLogger, Runtime, type LogEntry, type RuntimeOptions } from '@temporalio/worker';
import type { Logger } from '../observability/logger';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** Where the SDK serves its own metrics; without a port it does not. */
export interface SdkMetricsAddress {
  readonly host: string;
  readonly port?: number | undefined;
}

/**
 * Sends the SDK's own logs through ours, and leaves the signals to us. Once a process, before any connection.
 * @throws when the address of the metrics is none that can be listened on.
 */
export function installRuntime(logger: Logger, metrics: SdkMetricsAddress): void {
  const sdk = logger.child({ part: 'temporal-sdk' });
  Runtime.install({
    logger: new DefaultLogger('WARN', (entry: LogEntry) => {
      sdk[LEVELS[entry.level]](entry.meta ?? {}, entry.message);
    }),
    shutdownSignals: [],
    ...telemetryOf(metrics),
  });
}

/** The core has an exporter of its own; its figures do not pass through ours. Names and units as Prometheus has them. */
function telemetryOf({ host, port }: SdkMetricsAddress): Pick<RuntimeOptions, 'telemetryOptions'> {
  if (port === undefined) return {};
  // The core would only say "invalid socket address syntax".
  if (isIP(host) === 0)
    throw new Error(`ADMIN_HOST must be an IP address beside TEMPORAL_METRICS_PORT, not ${host}`);
  const prometheus = {
    bindAddress: isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`,
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
  };
  return { telemetryOptions: { metrics: { prometheus } } };
}
