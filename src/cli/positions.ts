import { InvalidArgumentError, Option, type Command } from 'commander';
import { createPool } from '../db/pool';
import { verifyPositions } from '../db/verify-positions';
import { ACCOUNT_ID } from '../domain/ids';
import { createLogger } from '../observability/logger';
import { databaseUrlOption } from './database-url';

const CONNECT_TIMEOUT_MS = 5_000;
/** Of one statement, that is of a page of fills; the whole takes as long as there are fills. */
const STATEMENT_TIMEOUT_MS = 60_000;

interface VerifyOptions {
  readonly databaseUrl: string;
  readonly account?: string;
}

/** `tekil positions verify`: whether every position is the fold of its fills. */
export function registerPositions(program: Command): void {
  program
    .command('positions')
    .description('check the positions')
    .command('verify')
    .description(
      'fold all positions again from their fills and print every difference; exit code 1 if there is one',
    )
    .addOption(accountOption())
    .addOption(databaseUrlOption())
    .action(verify);
}

async function verify({ databaseUrl, account }: VerifyOptions): Promise<void> {
  const pool = createPool(
    {
      connectionString: databaseUrl,
      size: 1,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      applicationName: 'tekil positions',
    },
    createLogger('positions', 'warn'),
  );
  let differences = 0;
  try {
    const count = await verifyPositions(pool, account, (difference) => {
      differences += 1;
      const { accountId, symbol, where, stored, folded } = difference;
      console.log(`${accountId} ${symbol} ${where}: stored ${stored}; its fills give ${folded}`);
    });
    console.log(`positions: ${count}, differences: ${differences}`);
  } finally {
    await pool.end();
  }
  if (differences > 0) process.exitCode = 1;
}

function accountOption(): Option {
  return new Option('--account <account-id>', 'only the positions of this account').argParser((text) => {
    if (ACCOUNT_ID.test(text)) return text;
    throw new InvalidArgumentError(
      'It must be 1 to 64 letters, digits, hyphens or underscores, starting with a letter or digit.',
    );
  });
}
