import { join } from 'node:path';
import type { Command } from 'commander';
import { migrate } from '../db/migrations';
import { createLogger } from '../observability/logger';
import { packageRoot } from '../package-root';
import { databaseUrlOption } from './database-url';

/** `tekil migrate`: brings the database to this version's schema. */
export function registerMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the database to the schema of this version; running it again changes nothing')
    .addOption(databaseUrlOption())
    .action(async ({ databaseUrl }: { databaseUrl: string }) => {
      const directory = join(packageRoot(), 'migrations');
      const logger = createLogger('migrate', 'info');
      const applied = await migrate({ connectionString: databaseUrl, directory }, logger);
      console.log(applied.length === 0 ? 'nothing to migrate' : `migrated: ${applied.join(', ')}`);
    });
}
