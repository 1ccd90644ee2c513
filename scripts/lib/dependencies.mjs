import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './checkout.mjs';
import { run } from './run.mjs';

const INSTALL_TIMEOUT_MS = 600_000;

/** Installs the npm packages unless those that are there are those of the lock file. */
export async function installDependencies(say) {
  if (areInstalled()) return;
  say('installing the npm packages');
  const options = ['--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['ci', ...options], { timeoutMs: INSTALL_TIMEOUT_MS });
}

/** npm writes down what it installed, at the very end: after an interrupted installation there is no such file. */
function areInstalled() {
  let installed;
  try {
    installed = packagesOf(join('node_modules', '.package-lock.json'));
  } catch {
    return false;
  }
  return Object.entries(packagesOf('package-lock.json')).every(([path, wanted]) => {
    if (path === '') return true;
    const found = installed[path];
    // What is optional may be for another system.
    if (found === undefined) return wanted.optional === true;
    return found.version === wanted.version && found.integrity === wanted.integrity;
  });
}

function packagesOf(file) {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8')).packages;
}
