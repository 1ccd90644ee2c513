import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/package-root';

/** Recordings of real venues lie beside the checkout and are not part of it. */
const FOLDER = join(packageRoot(), '../shared/data');
const present = existsSync(FOLDER);

if (!present) {
  process.stderr.write(`Tests with recordings of real venues are SKIPPED: there is no folder ${FOLDER}\n`);
}

/** A test that needs the recordings. */
export const testWithRecordings = present ? test : test.skip;

export function recordingPath(file: string): string {
  return join(FOLDER, file);
}
