import { InvalidArgumentError, Option, type Command } from 'commander';
import { createApiKey, listApiKeys, revokeApiKey, type ApiKeyRow } from '../db/api-keys';
import { ACCOUNT_ID } from '../domain/ids';
import { databaseUrlOption } from './database-url';
import { withPool } from './with-pool';

interface KeyOptions {
  readonly databaseUrl: string;
  readonly account?: string;
  readonly operator?: boolean;
}

/** `tekil api-key create|list|revoke`: who may call the API. */
export function registerApiKey(program: Command): void {
  const group = program.command('api-key').description('create, list and revoke the keys of the API');
  group
    .command('create')
    .description('create a key for an account and print it; it cannot be shown again')
    .addOption(accountOption().makeOptionMandatory())
    .option('--operator', 'the key also decides about executions that were set aside, of every account')
    .addOption(databaseUrlOption())
    .action(({ databaseUrl, account = '', operator = false }: KeyOptions) =>
      withPool('api-key', databaseUrl, async (pool) => {
        const { key, keyId } = await createApiKey(pool, account, operator ? 'operator' : 'account');
        // The key alone goes to standard output, so that a script can take it.
        console.error(`key ${keyId} of account ${account}; keep it, only its hash is stored:`);
        console.log(key);
      }),
    );
  group
    .command('list')
    .description('list the keys by their ids; revoked ones are marked')
    .addOption(accountOption())
    .addOption(databaseUrlOption())
    .action(({ databaseUrl, account }: KeyOptions) =>
      withPool('api-key', databaseUrl, async (pool) => {
        for (const row of await listApiKeys(pool, account)) console.log(lineOf(row));
      }),
    );
  group
    .command('revoke')
    .description('revoke a key; every process stops taking it within two seconds')
    .argument('<key-id>', 'the 16 digits between the underscores of the key')
    .addOption(databaseUrlOption())
    .action((keyId: string, { databaseUrl }: KeyOptions) =>
      withPool('api-key', databaseUrl, async (pool) => {
        if (!(await revokeApiKey(pool, keyId))) throw new Error(`there is no key ${keyId}`);
        console.log(`revoked ${keyId}`);
      }),
    );
}

function accountOption(): Option {
  return new Option('--account <account-id>', 'the account that the key opens').argParser((text) => {
    if (ACCOUNT_ID.test(text)) return text;
    throw new InvalidArgumentError(
      'It must be 1 to 64 letters, digits, hyphens or underscores, starting with a letter or digit.',
    );
  });
}

function lineOf({ keyId, accountId, scope, createdAt, revokedAt }: ApiKeyRow): string {
  const revoked = revokedAt === null ? '' : `  revoked ${revokedAt.toISOString()}`;
  const operator = scope === 'operator' ? '  operator' : '';
  return `${keyId}  ${accountId}${operator}  created ${createdAt.toISOString()}${revoked}`;
}
