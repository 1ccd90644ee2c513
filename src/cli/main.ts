#!/usr/bin/env node
import { Command } from 'commander';
import { registerApiKey } from './api-key';
import { registerBootstrap } from './bootstrap';
import { registerDedup } from './dedup';
import { registerExecutions } from './executions';
import { registerMigrate } from './migrate';
import { registerOpenapi } from './openapi';
import { registerPositions } from './positions';
import { registerSchedules } from './schedules';
import { registerSchemas } from './schemas';

/** Each command is a file of its own; this is only their list. */
const COMMANDS: readonly ((program: Command) => void)[] = [
  registerMigrate,
  registerBootstrap,
  registerApiKey,
  registerExecutions,
  registerPositions,
  registerDedup,
  registerSchedules,
  registerOpenapi,
  registerSchemas,
];

async function main(): Promise<void> {
  const program = new Command('tekil')
    .description('Operate Tekil: an order system in which a repeat is harmless')
    .showHelpAfterError('(add --help to see what is possible)');
  for (const register of COMMANDS) register(program);
  await program.parseAsync();
}

/** An error of several attempts, as a refused connection is one, has no message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

main().catch((error: unknown) => {
  console.error(`tekil: ${messageOf(error)}`);
  process.exitCode = 1;
});
