import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../package-root';
import { removeComposeServers } from './compose-server';
import { claimDataDirectory, ownerFileOf } from './data-directory';
import { stopLeftovers } from './leftovers';
import { rememberedProcess } from './process-record';
import { usesCompose } from './provision';
import { startServers, type ServerAddresses, type Servers } from './servers';

/**
 * The three servers with empty data, for one run of the tests; what an earlier run of this checkout left behind when
 * it was killed is stopped and removed first.
 */
export async function startTestServers(external: Partial<ServerAddresses>): Promise<Servers> {
  const prefix = `tekil-test-${createHash('sha256').update(packageRoot()).digest('hex').slice(0, 8)}-`;
  await removeLeftovers(prefix);
  const dataDir = mkdtempSync(join(tmpdir(), prefix));
  await claimDataDirectory(dataDir);
  try {
    const servers = await startServers({ dataDir, durable: false, ui: false, external });
    const stop = async (): Promise<void> => {
      await servers.stop();
      await remove(dataDir);
    };
    return { ...servers, stop };
  } catch (error) {
    await remove(dataDir);
    throw error;
  }
}

async function removeLeftovers(prefix: string): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const dataDir = join(tmpdir(), name);
    // Another run of the tests may be using it at this moment.
    if (rememberedProcess(ownerFileOf(dataDir)) !== undefined) continue;
    await stopLeftovers(dataDir);
    await remove(dataDir);
  }
}

async function remove(dataDir: string): Promise<void> {
  if (usesCompose()) await removeComposeServers(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
}
