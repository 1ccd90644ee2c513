import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds package.json. */
export const ROOT = resolve(fileURLToPath(import.meta.url), '..', '..', '..');

/** What this checkout remembers about its set-up. Ignored by git; may be deleted at any time. */
export const STATE = join(ROOT, '.tekil');

/** Where fetched programs lie; TEKIL_HOME lets several checkouts share them. */
export const CACHE = resolve(process.env['TEKIL_HOME'] ?? STATE);

export const SERVERS_FILE = join(STATE, 'servers.json');
