import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { ManagedProcess } from '../../src/dev/managed-process';
import { freePort } from '../../src/dev/ports';
import { ensureSearchAttributes } from '../../src/temporal/search-attributes';

const VERSION = 'v1.31.2';
const TOOL_TIMEOUT_MS = 120_000;
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;
const RPC_TIMEOUT_MS = 5_000;
const WEEK_SECONDS = 604_800;

/** Limits of the server are not what is measured. */
const DYNAMIC_CONFIG = [
  'system.enableActivityEagerExecution',
  'system.enableEagerWorkflowStart',
  ...['frontend.rps', 'frontend.namespaceRPS', 'frontend.namespaceCount', 'history.rps', 'matching.rps'],
]
  .map((key) => `${key}:\n  - value: ${key.startsWith('system') ? 'true' : '20000'}\n    constraints: {}`)
  .join('\n');

export interface BenchTemporal {
  readonly address: string;
  readonly stop: () => Promise<void>;
}

/** The folder of the server's programs. @throws saying how they are built. */
function programs(): string {
  const folder = process.env['TEMPORAL_SERVER_BIN'] ?? '';
  if (existsSync(join(folder, 'server')) && existsSync(join(folder, 'sql'))) return folder;
  const build = ['cmd/server', 'cmd/tools/sql'].map(
    (each) => `go install go.temporal.io/server/${each}@${VERSION}`,
  );
  throw new Error(
    `TEMPORAL_SERVER_BIN must name a folder with "server" and "sql"; build them with GOBIN=FOLDER: ${build.join(' && ')}`,
  );
}

/** A Temporal server on PostgreSQL, as it runs in production: what the development server on SQLite is no measure for. */
export async function startTemporalOnPostgres(postgresUrl: string, dataDir: string): Promise<BenchTemporal> {
  const folder = programs();
  const { hostname, port, username, password } = new URL(postgresUrl);
  const database = ['--plugin', 'postgres12', '--ep', hostname, '-p', port, '-u', username, '--pw', password];
  const schemas = [
    ['bench_temporal', 'postgresql/v12/temporal'],
    ['bench_visibility', 'postgresql/v12/visibility'],
  ] as const;
  for (const [name, schema] of schemas) {
    const sql = (...args: string[]) =>
      promisify(execFile)(join(folder, 'sql'), [...database, '--db', name, ...args], {
        timeout: TOOL_TIMEOUT_MS,
      });
    await sql('create');
    await sql('setup-schema', '-v', '0.0');
    await sql('update-schema', '--schema-name', schema);
  }
  const ports = await Promise.all(Array.from({ length: 8 }, () => freePort()));
  const frontend = ports[0] ?? 0;
  const files = join(dataDir, 'temporal-server');
  mkdirSync(files, { recursive: true });
  writeFileSync(join(files, 'dynamic.yaml'), DYNAMIC_CONFIG);
  const server = await ManagedProcess.start({
    name: 'Temporal on PostgreSQL',
    command: join(folder, 'server'),
    args: ['--allow-no-auth', 'start'],
    env: {
      ...process.env,
      DB: 'postgres12',
      POSTGRES_SEEDS: hostname,
      DB_PORT: port,
      POSTGRES_USER: username,
      POSTGRES_PWD: password,
      DBNAME: schemas[0][0],
      VISIBILITY_DBNAME: schemas[1][0],
      NUM_HISTORY_SHARDS: '16',
      SQL_MAX_CONNS: '20',
      SQL_VIS_MAX_CONNS: '5',
      BIND_ON_IP: '127.0.0.1',
      TEMPORAL_BROADCAST_ADDRESS: '127.0.0.1',
      LOG_LEVEL: 'error',
      DYNAMIC_CONFIG_FILE_PATH: join(files, 'dynamic.yaml'),
      ...portVariables(ports),
    },
    logFile: join(files, 'server.log'),
    log: 'new',
    pidFile: join(files, 'server.pid.json'),
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  const address = `127.0.0.1:${frontend}`;
  await server.waitUntilReady(() => ensureNamespace(address), READY_TIMEOUT_MS);
  await server.waitUntilReady(
    () => ensureSearchAttributes({ address, namespace: 'default' }),
    READY_TIMEOUT_MS,
  );
  return { address, stop: () => server.stop() };
}

function portVariables(ports: readonly number[]): Record<string, string> {
  const names = [
    ...['FRONTEND_GRPC_PORT', 'FRONTEND_MEMBERSHIP_PORT', 'HISTORY_GRPC_PORT', 'HISTORY_MEMBERSHIP_PORT'],
    ...['MATCHING_GRPC_PORT', 'MATCHING_MEMBERSHIP_PORT', 'WORKER_GRPC_PORT', 'WORKER_MEMBERSHIP_PORT'],
  ];
  return Object.fromEntries(names.map((name, index) => [name, String(ports[index])]));
}

async function ensureNamespace(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: RPC_TIMEOUT_MS });
  try {
    await connection.withDeadline(Date.now() + RPC_TIMEOUT_MS, async () => {
      const namespace = 'default';
      try {
        await connection.workflowService.registerNamespace({
          namespace,
          workflowExecutionRetentionPeriod: { seconds: WEEK_SECONDS as never },
        });
      } catch (error) {
        if (!String(error).includes('already exists')) throw error;
      }
      await connection.workflowService.describeNamespace({ namespace });
    });
  } finally {
    await connection.close();
  }
}
