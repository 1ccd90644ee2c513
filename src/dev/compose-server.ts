import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../package-root';
import { untilReady } from './readiness';
import type { RunningServer } from './server-files';

/** The first start has to pull the image. */
const UP_TIMEOUT_MS = 600_000;
const STOP_TIMEOUT_MS = 30_000;
const READY_TIMEOUT_MS = 60_000;

export interface ComposeServerOptions {
  /** Gives the containers and their volumes a name of their own; the data itself lies in these volumes. */
  readonly dataDir: string;
  /** Services of docker-compose.yml: what makes up the server. */
  readonly services: readonly string[];
  /** What docker-compose.yml reads of its environment: the ports on this machine. */
  readonly ports: Readonly<Record<string, number>>;
  readonly probe: () => Promise<void>;
}

/** Runs one server of docker-compose.yml: the way for a machine that has Docker but not what the server needs. */
export async function startByCompose(options: ComposeServerOptions): Promise<RunningServer> {
  const { dataDir, services, ports, probe } = options;
  const environment = Object.fromEntries(
    Object.entries(ports).map(([name, port]) => [name, String(port)] as const),
  );
  await compose(dataDir, ['up', '--detach', ...services], UP_TIMEOUT_MS, environment);
  await untilReady({ what: services.join(', '), probe, timeoutMs: READY_TIMEOUT_MS });
  return {
    stop: () => compose(dataDir, ['stop', ...services], STOP_TIMEOUT_MS),
    kill: () => compose(dataDir, ['kill', ...services], STOP_TIMEOUT_MS),
  };
}

/** Removes the containers of a data directory, and with them the data. */
export async function removeComposeServers(dataDir: string): Promise<void> {
  await compose(dataDir, ['down', '--volumes'], STOP_TIMEOUT_MS);
}

async function compose(
  dataDir: string,
  command: readonly string[],
  timeoutMs: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const project = `tekil-${createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 8)}`;
  const file = join(packageRoot(), 'docker-compose.yml');
  await promisify(execFile)('docker', ['compose', '--file', file, '--project-name', project, ...command], {
    env: { ...process.env, ...environment },
    timeout: timeoutMs,
  });
}
