import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/package-root';

/** The bytes of a test vector, as the documentation prints them: so that the page cannot say anything else. */
export function vector(name: 'tick' | 'snapshot' | 'packet' | 'heartbeat' | 'end'): Buffer {
  const page = readFileSync(join(packageRoot(), 'docs/quote-feed.md'), 'utf8');
  const bytes = new RegExp(`^${name} +([0-9a-f ]+)$`, 'm').exec(page)?.[1];
  if (bytes === undefined) throw new Error(`docs/quote-feed.md has no test vector called ${name}`);
  return Buffer.from(bytes.replaceAll(' ', ''), 'hex');
}
