import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { createApiKey } from '../../src/db/api-keys';
import type { Pool } from '../../src/db/pool';
import { startKafka } from '../../src/dev/kafka';
import { freePort } from '../../src/dev/ports';
import { startPostgres } from '../../src/dev/postgres';
import { packageRoot } from '../../src/package-root';
import { benchPool, migrateBench } from './bench-postgres';
import { startTemporalOnPostgres } from './temporal-on-postgres';

const SERVICES = ['quote-health', 'simulated-venue', 'order-api', 'fill-bridge'] as const;
const READY_TIMEOUT_MS = 60_000;
export const ACCOUNT_ID = 'bench';

/** Tekil on durable servers, nothing else running. */
export interface Rig {
  readonly apiUrl: string;
  readonly apiKey: string;
  readonly venueUrl: string;
  readonly temporalAddress: string;
  readonly databaseUrl: string;
  readonly kafkaBrokers: string;
  readonly pool: Pool;
  /** Resident memory of each process, MiB. */
  readonly memoryMb: () => Record<string, number>;
  readonly stop: () => Promise<void>;
}

/** `nodeArgs` go to every service, e.g. `--cpu-prof`. */
export async function startRig(nodeArgs: readonly string[] = []): Promise<Rig> {
  const started: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of started.splice(0).toReversed()) await end();
  };
  try {
    return { ...(await startParts(started, nodeArgs)), stop };
  } catch (error) {
    // What had started before it failed would otherwise run on.
    await stop();
    throw error;
  }
}

/** `started` learns how to end each part as soon as it is there. */
async function startParts(
  started: (() => Promise<unknown>)[],
  nodeArgs: readonly string[],
): Promise<Omit<Rig, 'stop'>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tekil-bench-'));
  started.push(() => {
    rmSync(dataDir, { recursive: true, force: true });
    return Promise.resolve();
  });
  const postgres = await startPostgres({ dataDir, durable: true });
  started.push(() => postgres.stop());
  const temporal = await startTemporalOnPostgres(postgres.url, dataDir);
  started.push(() => temporal.stop());
  const kafka = await startKafka({ dataDir });
  started.push(() => kafka.stop());
  await migrateBench(postgres.url);
  const pool = benchPool(postgres.url, 4);
  started.push(() => pool.end());
  const { key } = await createApiKey(pool, ACCOUNT_ID);
  const [apiPort, gatePort, feedPort, venuePort] = await Promise.all(
    Array.from({ length: 4 }, () => freePort()),
  );
  const shared = {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    DATABASE_URL: postgres.url,
    TEMPORAL_ADDRESS: temporal.address,
    KAFKA_BROKERS: kafka.brokers,
    API_PORT: String(apiPort),
    GATE_PORT: String(gatePort),
    QUOTE_GATE_URL: `http://127.0.0.1:${gatePort}`,
    QUOTE_FEED_PORT: String(feedPort),
    VENUE_CONTROL_PORT: String(venuePort),
    // The first orders of a cold process must be answered, not refused.
    API_ANSWER_DEADLINE_MS: '30000',
    ORDER_ACCEPT_WINDOW_MS: '60000',
  };
  const services = new Map<string, ChildProcess>();
  started.push(async () => {
    for (const child of services.values()) await stopChild(child);
  });
  for (const name of SERVICES) services.set(name, await startService(name, shared, nodeArgs));
  return {
    apiUrl: `http://127.0.0.1:${apiPort}`,
    apiKey: key,
    venueUrl: `http://127.0.0.1:${venuePort}`,
    temporalAddress: temporal.address,
    databaseUrl: postgres.url,
    kafkaBrokers: kafka.brokers,
    pool,
    memoryMb: () =>
      Object.fromEntries([...services].map(([name, child]) => [name, residentMb(child.pid ?? 0)])),
  };
}

async function startService(
  name: string,
  env: Readonly<Record<string, string>>,
  nodeArgs: readonly string[],
): Promise<ChildProcess> {
  const adminPort = await freePort();
  const child = spawn(
    process.execPath,
    [...nodeArgs, join(packageRoot(), 'dist', 'src', 'services', `${name}.js`)],
    {
      env: { ...env, ADMIN_PORT: String(adminPort) },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const giveUpAt = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const ready = await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => undefined);
    if (ready?.ok === true) return child;
    if (performance.now() > giveUpAt) {
      await stopChild(child);
      throw new Error(`${name} is not ready after ${READY_TIMEOUT_MS} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Runs another program of a benchmark until `stop`; it says "ready" on its standard output. */
export async function startHelper(
  file: string,
  args: readonly string[],
): Promise<{ stop: () => Promise<void> }> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', join(packageRoot(), 'bench', 'support', file), ...args],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_ENV: 'production' },
    },
  );
  await once(child.stdout, 'data', { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
  return { stop: () => stopChild(child) };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024);
}

/** The line that stands above every table: when, where, by which command. */
export function heading(command: string): string {
  const [cpu] = cpus();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const date = new Date().toISOString().slice(0, 10);
  return `_${date}; ${cpus().length} cores (${cpu?.model ?? 'unknown'}), ${memory}; Node.js ${process.version}; \`${command}\`._`;
}
