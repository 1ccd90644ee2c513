import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** `CHROMIUM` if it is set, else what the machine has in its path. */
function findChromium(): string | undefined {
  const named = process.env['CHROMIUM'];
  if (named !== undefined && named !== '') return named;
  const folders = (process.env['PATH'] ?? '').split(':');
  return PROGRAMS.flatMap((program) => folders.map((folder) => join(folder, program))).find(existsSync);
}

const program = findChromium();

if (program === undefined) {
  process.stderr.write(
    'Tests in a browser are SKIPPED: there is no Chromium in the path, and CHROMIUM names none\n',
  );
}

/** A test that needs a browser. */
export const testWithBrowser = program === undefined ? test.skip : test;

/** A browser without a window, which opens no connection of its own. */
export function launchBrowser(): Promise<Browser> {
  if (program === undefined) throw new Error('there is no Chromium here');
  return chromium.launch({
    executablePath: program,
    args: ['--no-sandbox', '--disable-background-networking'],
  });
}
