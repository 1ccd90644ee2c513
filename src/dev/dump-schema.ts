import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrate } from '../db/migrations';
import { dumpSchema } from '../db/schema-dump';
import { silentLogger } from '../observability/logger';
import { packageRoot } from '../package-root';
import { startPostgres } from './postgres';

/** `npm run db:dump`: writes the schema that the migrations make, on an empty server, to test/schema.sql. */
async function main(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tekil-schema-'));
  const server = await startPostgres({ dataDir, durable: false });
  try {
    const directory = join(packageRoot(), 'migrations');
    await migrate({ connectionString: server.url, directory }, silentLogger());
    const client = new Client({ connectionString: server.url });
    await client.connect();
    const schema = await dumpSchema(client);
    await client.end();
    writeFileSync(join(packageRoot(), 'test', 'schema.sql'), schema);
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
