import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The processes of `npm start`, in the order in which they are listed. */
export const SERVICE_NAMES = [
  'quote-health',
  'order-worker',
  'order-api',
  'fill-bridge',
  'simulated-venue',
] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** What `npm start` runs, for `npm run demo` and for people. Kept in the data directory while it runs. */
export interface RunningSystem {
  /** Of `npm start` itself. */
  readonly pid: number;
  readonly apiUrl: string;
  readonly gateUrl: string;
  /** Steers the simulated venue and its feed. */
  readonly venueControlUrl: string;
  /** Undefined when Temporal is an external server. */
  readonly temporalUiUrl?: string | undefined;
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly kafkaBrokers: string;
  readonly accountId: string;
  /** A file with the API key of that account. */
  readonly apiKeyFile: string;
  /** The pid changes when a service is started again. */
  readonly services: Readonly<Record<ServiceName, { readonly pid: number; readonly adminUrl: string }>>;
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'running.json');
}

/** Undefined when nothing runs with this data directory, as far as its file tells. */
export function readRunningSystem(dataDir: string): RunningSystem | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(dataDir), 'utf8')) as RunningSystem;
  } catch {
    return undefined;
  }
}

/** Replaces the file as a whole: a reader never sees half of it. Only its owner may read it: it holds a password. */
export function writeRunningSystem(dataDir: string, system: RunningSystem): void {
  const unfinished = `${fileOf(dataDir)}.unfinished`;
  writeFileSync(unfinished, `${JSON.stringify(system, null, 2)}\n`, { mode: 0o600 });
  renameSync(unfinished, fileOf(dataDir));
}

export function removeRunningSystem(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true });
}
