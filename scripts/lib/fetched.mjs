import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from './checkout.mjs';

/**
 * A folder of the cache that `fetch` fills once. It is filled under another name and then moved to its place, so
 * that a fetch which was interrupted is done again, and of two at once the first one wins.
 * @param {string} name with its version
 * @param {(folder: string) => Promise<void>} fetch
 * @returns {Promise<string>} the folder
 */
export async function fetchOnce(name, fetch) {
  const folder = join(CACHE, name);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const unfinished = mkdtempSync(join(CACHE, `${name}.unfinished-`));
  try {
    await fetch(unfinished);
    // mkdtemp makes folders that only their owner may enter; the cache may be shared.
    chmodSync(unfinished, 0o755);
    if (!existsSync(folder)) renameSync(unfinished, folder);
    return folder;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
