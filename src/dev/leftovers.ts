import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { stopLeftover } from './process-record';
import { pidFolderOf } from './server-files';

const STOP_TIMEOUT_MS = 5_000;
const SERVERS: ReadonlySet<string> = new Set(['postgres', 'temporal', 'kafka']);

/**
 * Stops every program that an earlier start with this data directory left running when it was killed: our processes
 * before the servers, so that they can still say goodbye (a consumer that does not leave its group holds up the next
 * one for half a minute). Each stops politely on SIGINT.
 */
export async function stopLeftovers(dataDir: string): Promise<void> {
  const folder = pidFolderOf(dataDir);
  if (!existsSync(folder)) return;
  const names = readdirSync(folder).map((file) => basename(file, '.json'));
  const stop = (chosen: readonly string[]): Promise<unknown> =>
    Promise.all(chosen.map((name) => stopLeftover(join(folder, `${name}.json`), 'SIGINT', STOP_TIMEOUT_MS)));
  await stop(names.filter((name) => !SERVERS.has(name)));
  await stop(names.filter((name) => SERVERS.has(name)));
}
