import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Where a program keeps what, below the data directory. */
export interface ProgramFiles {
  /** For its own data. */
  readonly folder: string;
  readonly log: string;
  readonly pid: string;
}

/** A server that this process started. */
export interface RunningServer {
  /** Politely; for good after a few seconds. */
  readonly stop: () => Promise<void>;
  /** At once, as in a crash. */
  readonly kill: () => Promise<void>;
}

export function pidFolderOf(dataDir: string): string {
  return join(resolve(dataDir), 'pids');
}

export function filesOf(dataDir: string, program: string): ProgramFiles {
  const root = resolve(dataDir);
  return {
    folder: join(root, program),
    log: join(root, 'logs', `${program}.log`),
    pid: join(pidFolderOf(dataDir), `${program}.json`),
  };
}

/** The same, for a server: its folder is there. */
export function serverFilesOf(dataDir: string, server: string): ProgramFiles {
  const files = filesOf(dataDir, server);
  mkdirSync(files.folder, { recursive: true });
  return files;
}
