import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { stopLeftovers } from './leftovers';
import { endsWithin, forgetProcess, rememberedProcess, rememberProcess } from './process-record';

/** An earlier start whose terminal was just closed is given the time that it needs to stop. */
const HANDOVER_TIMEOUT_MS = 12_000;

/** Remembers who uses a data directory. */
export function ownerFileOf(dataDir: string): string {
  return join(dataDir, 'owner.json');
}

/**
 * Takes the data directory for this process, and stops what a killed owner left running.
 * @returns what gives it back.
 * @throws {Error} when another start uses it and goes on running.
 */
export async function claimDataDirectory(dataDir: string): Promise<() => void> {
  mkdirSync(dataDir, { recursive: true });
  const file = ownerFileOf(dataDir);
  const owner = rememberedProcess(file);
  if (owner !== undefined && owner.pid !== process.pid && !(await endsWithin(owner, HANDOVER_TIMEOUT_MS))) {
    throw new Error(`Tekil already runs here (process ${owner.pid}): stop it with Ctrl-C in its terminal`);
  }
  rememberProcess(file, process.pid);
  await stopLeftovers(dataDir);
  return () => {
    forgetProcess(file);
  };
}
