import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { KEYWORD_TYPE_NAME, SEARCH_ATTRIBUTES } from '../temporal/search-attributes';
import { startByCompose } from './compose-server';
import { ManagedProcess } from './managed-process';
import { freePort } from './ports';
import { provisionOf } from './provision';

import { serverFilesOf, type RunningServer } from './server-files';

export interface TemporalOptions {
  /** Holds the workflows between starts. */
  readonly dataDir: string;
  /** With the Web UI, on a port of its own. */
  readonly ui: boolean;
  readonly port?: number | undefined;
  readonly uiPort?: number | undefined;
}

export interface TemporalServer extends RunningServer {
  readonly address: string;
  readonly uiUrl?: string | undefined;
}

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 3_000;
const CONNECT_TIMEOUT_MS = 1_000;
const NAMESPACE = 'default';

/** Far above what one machine does: the development server's limits would otherwise be what a test measures. */
const UNLIMITED_PER_SECOND = 20_000;
const DYNAMIC_CONFIG: Readonly<Record<string, boolean | number>> = {
  'system.enableActivityEagerExecution': true,
  'system.enableEagerWorkflowStart': true,
  'frontend.rps': UNLIMITED_PER_SECOND,
  'frontend.namespaceRPS': UNLIMITED_PER_SECOND,
  'frontend.namespaceRPS.visibility': UNLIMITED_PER_SECOND,
  'frontend.namespaceCount': UNLIMITED_PER_SECOND,
  'history.rps': UNLIMITED_PER_SECOND,
  'matching.rps': UNLIMITED_PER_SECOND,
};

/** Starts Temporal's development server on 127.0.0.1. @throws {StartError} with the end of its log. */
export async function startTemporal(options: TemporalOptions): Promise<TemporalServer> {
  const provision = provisionOf('temporal');
  const port = options.port ?? (await freePort());
  const uiPort = options.ui ? (options.uiPort ?? (await freePort())) : undefined;
  const address = `127.0.0.1:${port}`;
  const ui = uiPort === undefined ? {} : { uiUrl: `http://127.0.0.1:${uiPort}` };
  const probe = (): Promise<void> => answers(address);
  if (provision.kind === 'compose') {
    const ports = {
      TEKIL_TEMPORAL_PORT: port,
      ...(uiPort === undefined ? {} : { TEKIL_TEMPORAL_UI_PORT: uiPort }),
    };
    const services = ['temporal', 'temporal-namespace', ...(uiPort === undefined ? [] : ['temporal-ui'])];
    const server = await startByCompose({ dataDir: options.dataDir, services, ports, probe });
    return { address, ...ui, ...server };
  }
  const files = serverFilesOf(options.dataDir, 'temporal');
  const server = await ManagedProcess.start({
    name: 'Temporal',
    command: provision.path,
    args: argumentsOf(join(files.folder, 'temporal.db'), port, uiPort),
    env: { PATH: '/usr/bin:/bin', HOME: files.folder },
    logFile: files.log,
    log: 'new',
    pidFile: files.pid,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  await server.waitUntilReady(probe, READY_TIMEOUT_MS);
  return { address, ...ui, stop: () => server.stop(), kill: () => server.kill() };
}

function argumentsOf(database: string, port: number, uiPort: number | undefined): string[] {
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--db-filename', database],
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=1', '--log-level', 'warn'],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort), '--ui-disable-news-fetch']),
    ...SEARCH_ATTRIBUTES.flatMap(({ name }) => ['--search-attribute', `${name}=${KEYWORD_TYPE_NAME}`]),
    ...Object.entries(DYNAMIC_CONFIG).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${value}`,
    ]),
  ];
}

/** The port opens before the namespace is there; a workflow needs both. */
async function answers(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS });
  try {
    await connection.withDeadline(Date.now() + CONNECT_TIMEOUT_MS, () =>
      connection.workflowService.describeNamespace({ namespace: NAMESPACE }),
    );
  } finally {
    await connection.close();
  }
}
