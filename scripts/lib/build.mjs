import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './checkout.mjs';
import { run } from './run.mjs';

const SOURCES = ['src', 'workflows', 'activities'];
const SETTINGS = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
const STAMP = join(ROOT, 'dist', 'built-from.sha256');
const BUILD_TIMEOUT_MS = 300_000;

/** Builds when the sources are not those that `dist` was built from. */
export async function buildIfStale() {
  const sources = digestOfSources();
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === sources) return;
  console.log('building');
  await run('npm', ['run', '--silent', 'build'], { timeoutMs: BUILD_TIMEOUT_MS });
  writeFileSync(STAMP, sources);
}

/** Of names, sizes and times: a file that was changed, added or removed gives another one. */
function digestOfSources() {
  const hash = createHash('sha256');
  const files = SOURCES.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((file) => join(folder, file)),
  );
  for (const file of [...files.sort(), ...SETTINGS]) {
    const { size, mtimeMs } = statSync(join(ROOT, file));
    hash.update(`${file}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest('hex');
}
