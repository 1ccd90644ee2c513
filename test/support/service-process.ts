import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { freePort } from '../../src/dev/ports';
import { packageRoot } from '../../src/package-root';
import { waitFor } from './wait-for';

const LOG_LINES = 40;
const STOP_TIMEOUT_MS = 20_000;

/** A service as a process of its own, as it runs in production: from the build, configured by its environment. */
export interface ServiceProcess {
  readonly name: string;
  readonly adminPort: number;
  readonly pid: number;
  /** Resolves with the exit code, or with the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  /** The last lines of its log. */
  log(): string;
  /** SIGTERM, then wait. */
  stop(): Promise<void>;
  /** SIGKILL, then wait. */
  kill(): Promise<void>;
  /** Without the process's cooperation: it neither runs nor notices. */
  freeze(): void;
  thaw(): void;
  /** The sum of a counter over all its label sets that contain `labels`. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
}

/** `entry` is relative to the repository: a file of the build, or a TypeScript file of the tests. */
export async function startService(
  entry: string,
  env: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const adminPort = await freePort();
  const file = join(packageRoot(), entry);
  const loader = entry.endsWith('.ts') ? ['--import', 'tsx'] : [];
  const child = spawn(process.execPath, [...loader, file], {
    cwd: packageRoot(),
    env: { PATH: process.env['PATH'], LOG_LEVEL: 'info', ...env, ADMIN_PORT: String(adminPort) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines = keepLog(child);
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal ?? code ?? 0);
    });
  });
  const service = handle(entry, child, { adminPort, exited, lines });
  await ready(service);
  return service;
}

function keepLog(child: ChildProcess): string[] {
  const lines: string[] = [];
  const keep = (chunk: Buffer): void => {
    lines.push(...chunk.toString('utf8').split('\n').filter(Boolean));
    lines.splice(0, Math.max(0, lines.length - LOG_LINES));
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return lines;
}

function handle(
  name: string,
  child: ChildProcess,
  parts: {
    readonly adminPort: number;
    readonly exited: Promise<number | NodeJS.Signals>;
    readonly lines: string[];
  },
): ServiceProcess {
  const { adminPort, exited, lines } = parts;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    // A frozen process hears nothing but this.
    const atLast = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(atLast);
  };
  return {
    name,
    adminPort,
    pid: child.pid ?? 0,
    exited,
    log: () => lines.join('\n'),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    metric: (metric, labels = {}) => readMetric(adminPort, metric, labels),
  };
}

async function ready(service: ServiceProcess): Promise<void> {
  let ended: number | NodeJS.Signals | undefined;
  void service.exited.then((code) => (ended = code));
  await waitFor(
    `${service.name} to be ready`,
    async () => {
      if (ended !== undefined) throw new Error(`it ended with ${ended}:\n${service.log()}`);
      const response = await fetch(`http://127.0.0.1:${service.adminPort}/readyz`);
      return response.ok;
    },
    30_000,
  );
}

async function readMetric(
  adminPort: number,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/metrics`);
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return (await response.text())
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
