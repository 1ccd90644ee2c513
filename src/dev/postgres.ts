import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { startByCompose } from './compose-server';
import { ManagedProcess, StartError, type ProcessOptions } from './managed-process';
import { freePort } from './ports';
import { provisionOf } from './provision';
import { invocationAs, serverUser, type ServerUser } from './server-user';
import { serverFilesOf, type RunningServer, type ProgramFiles } from './server-files';

export interface PostgresOptions {
  /** Holds the cluster between starts. */
  readonly dataDir: string;
  /** False for tests: what was written survives a crash of the server, but not one of the machine. */
  readonly durable: boolean;
  /** A free one is found when it is left out. */
  readonly port?: number | undefined;
}

export interface PostgresServer extends RunningServer {
  /** Of the superuser, on the database `postgres`. */
  readonly url: string;
  readonly port: number;
}

const READY_TIMEOUT_MS = 30_000;
const INIT_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 4_000;
const CONNECT_TIMEOUT_MS = 2_000;
const MAX_CONNECTIONS = 200;
/** After a crash, backends of the old server may hold its memory for a moment longer. */
const MAX_START_ATTEMPTS = 20;
const RETRY_INTERVAL_MS = 250;

/** Starts PostgreSQL on 127.0.0.1; makes the cluster at the first start. @throws {StartError} with the end of its log. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const provision = provisionOf('postgres');
  const port = options.port ?? (await freePort());
  if (provision.kind === 'compose') return startWithCompose(options.dataDir, port);
  const files = serverFilesOf(options.dataDir, 'postgres');
  const user = serverUser();
  const password = await ensureCluster(provision.folder, files, user, options.durable);
  const url = urlOf(password, port);
  const cluster = clusterOf(files);
  const settings = settingsOf(port, options.durable).flatMap((setting) => ['-c', setting]);
  const program = join(provision.folder, 'postgres');
  const invocation = invocationAs(user, program, ['-D', cluster, ...settings], [provision.folder, cluster]);
  const processOptions: ProcessOptions = {
    name: 'PostgreSQL',
    ...invocation,
    env: environmentOf(),
    logFile: files.log,
    log: 'new',
    pidFile: files.pid,
    // Fast shutdown: ends the sessions and writes a checkpoint.
    stopSignal: 'SIGINT',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  };
  for (let attempt = 1; ; attempt += 1) {
    const server = await ManagedProcess.start(processOptions);
    try {
      await server.waitUntilReady(() => answers(url), READY_TIMEOUT_MS);
      return { url, port, stop: () => server.stop(), kill: () => server.kill() };
    } catch (error) {
      if (attempt === MAX_START_ATTEMPTS || !mayStartLater(error, cluster)) throw error;
      await pause(RETRY_INTERVAL_MS);
    }
  }
}

async function startWithCompose(dataDir: string, port: number): Promise<PostgresServer> {
  // The password that docker-compose.yml gives the superuser.
  const url = urlOf('postgres', port);
  const server = await startByCompose({
    dataDir,
    services: ['postgres'],
    ports: { TEKIL_POSTGRES_PORT: port },
    probe: () => answers(url),
  });
  return { url, port, ...server };
}

function urlOf(password: string, port: number): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

function settingsOf(port: number, durable: boolean): readonly string[] {
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    // Only TCP: a socket in a shared folder would clash with other servers of the machine.
    'unix_socket_directories=',
    `max_connections=${MAX_CONNECTIONS}`,
    'timezone=UTC',
    'log_timezone=UTC',
  ];
  // Commits still reach the operating system, so a killed server loses nothing; only a power cut would.
  return durable ? settings : [...settings, 'fsync=off', 'full_page_writes=off'];
}

function clusterOf(files: ProgramFiles): string {
  return join(files.folder, 'cluster');
}

function environmentOf(): NodeJS.ProcessEnv {
  return { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

/** Makes the cluster unless it is there; gives the superuser's password. */
async function ensureCluster(
  binaries: string,
  files: ProgramFiles,
  user: ServerUser | undefined,
  durable: boolean,
): Promise<string> {
  const passwordFile = join(files.folder, 'password');
  const cluster = clusterOf(files);
  if (existsSync(cluster)) return readFileSync(passwordFile, 'utf8').trim();

  const password = randomBytes(18).toString('base64url');
  // Made beside its place and moved there: an interrupted start leaves no half a cluster behind.
  const unfinished = `${cluster}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user !== undefined) {
    for (const path of [unfinished, passwordFile]) chownSync(path, user.uid, user.gid);
  }
  const flags = [
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
  ];
  const sync = durable ? [] : ['--no-sync'];
  const {
    command,
    args,
    user: runAs,
  } = invocationAs(
    user,
    join(binaries, 'initdb'),
    ['-D', unfinished, '--locale=C', ...flags, ...sync],
    [binaries, files.folder],
  );
  await promisify(execFile)(command, args, { env: environmentOf(), timeout: INIT_TIMEOUT_MS, ...runAs });
  renameSync(unfinished, cluster);
  return password;
}

async function answers(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  await client.connect();
  try {
    await client.query('select 1');
  } finally {
    await client.end();
  }
}

function mayStartLater(error: unknown, cluster: string): boolean {
  if (!(error instanceof StartError)) return false;
  if (error.message.includes('is still in use')) return true;
  return error.message.includes('lock file "postmaster.pid" already exists') && removeStaleLock(cluster);
}

/**
 * After a crash of the whole machine (or of a container) another program may run under the pid in the cluster's lock
 * file, and PostgreSQL, which sees only that it runs, would never start again.
 */
function removeStaleLock(cluster: string): boolean {
  const lock = join(cluster, 'postmaster.pid');
  try {
    const pid = readFileSync(lock, 'utf8').split('\n')[0] ?? '';
    if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(cluster)) return false;
  } catch {
    return false;
  }
  rmSync(lock, { force: true });
  return true;
}
