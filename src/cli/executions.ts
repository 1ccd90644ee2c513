import { userInfo } from 'node:os';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { loadConfig } from '../config';
import { SET_ASIDE_REASONS, type OperatorDecision, type SetAsideReason } from '../contracts/operator-api';
import { decide, type Decided, type DecisionCommand } from '../db/operator-decisions';
import { findSetAside, listSetAside } from '../db/set-aside-events';
import { readPayload } from '../kafka/parse-execution';
import { createLogger } from '../observability/logger';
import { connectClient } from '../temporal/connection';
import { createExecutionGateway } from '../temporal/execution-gateway';
import type { ExecutionGateway } from '../temporal/order-gateway';
import { databaseUrlOption } from './database-url';
import { printable, setAsideLine } from './set-aside-line';
import { withPool } from './with-pool';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;
const MAX_REASON_CHARACTERS = 1_000;

interface ListOptions {
  readonly databaseUrl: string;
  readonly kind?: SetAsideReason;
  readonly account?: string;
  readonly order?: string;
  readonly source?: string;
  readonly all?: boolean;
  readonly limit: number;
}

interface DecisionOptions {
  readonly databaseUrl: string;
  readonly reason: string;
  readonly by: string;
  readonly account?: string;
  readonly order?: string;
}

/** `tekil executions list|show|replay|adopt|discard`: what was set aside, and what a person decides about it. */
export function registerExecutions(program: Command): void {
  const group = program
    .command('executions')
    .description('see executions in quarantine and parked ones, and decide about them');
  group
    .command('list')
    .description('list those that wait for a decision, newest first')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(SET_ASIDE_REASONS))
    .option('--account <account-id>', 'only those that name this account')
    .option('--order <client-order-id>', 'only those that name this order')
    .option('--source <source>', 'only of this source')
    .option('--all', 'also those that were decided about')
    .addOption(limitOption())
    .addOption(databaseUrlOption())
    .action((options: ListOptions) =>
      withPool('executions', options.databaseUrl, async (pool) => {
        const { kind: reason, account: accountId, order: clientOrderId, source, all, limit } = options;
        const rows = await listSetAside(pool, {
          ...{ reason, accountId, clientOrderId, source },
          decided: all === true,
          limit: limit + 1,
        });
        for (const row of rows.slice(0, limit)) console.log(setAsideLine(row));
        if (rows.length > limit) console.error('there are more: filter, or raise --limit');
      }),
    );
  group
    .command('show')
    .description('show one of them whole, as JSON')
    .argument('<id>', 'as list shows it, such as q12 or p7')
    .addOption(databaseUrlOption())
    .action((id: string, { databaseUrl }: { readonly databaseUrl: string }) =>
      withPool('executions', databaseUrl, async (pool) => {
        const event = await findSetAside(pool, id);
        if (event === undefined) throw new Error(`there is no event ${id}`);
        console.log(printable(JSON.stringify(event, null, 2)));
      }),
    );
  decisionCommand(group, 'replay', 'apply an event in quarantine, now that its cause is mended');
  decisionCommand(group, 'adopt', 'apply a parked execution to its order, or to the one that is named')
    .option('--account <account-id>', 'the account of the order that it belongs to')
    .option('--order <client-order-id>', 'the order that it belongs to');
  decisionCommand(group, 'discard', 'never apply it; it stays recorded, and its repeats change nothing');
}

function decisionCommand(group: Command, decision: OperatorDecision, description: string): Command {
  return group
    .command(decision)
    .description(description)
    .argument('<id>', 'as list shows it, such as q12 or p7')
    .addOption(reasonOption())
    .addOption(new Option('--by <name>', 'who decides').default(userInfo().username).argParser(nameOf))
    .addOption(databaseUrlOption())
    .action((eventId: string, options: DecisionOptions) =>
      run(commandOf(eventId, decision, options), options),
    );
}

function commandOf(
  eventId: string,
  decision: OperatorDecision,
  { reason, by, account, order }: DecisionOptions,
): DecisionCommand {
  const command = { eventId, decision, reason, decidedBy: by };
  if (account === undefined && order === undefined) return command;
  if (account === undefined || order === undefined) throw new Error('--account and --order go together');
  return { ...command, order: { accountId: account, clientOrderId: order } };
}

/** Temporal is asked for first, so that nothing is decided when the order's run could not be told. */
async function run(command: DecisionCommand, { databaseUrl }: DecisionOptions): Promise<void> {
  await withPool('executions', databaseUrl, async (pool) => {
    if (command.decision === 'discard') {
      report(command, await decide(pool, command, readPayload));
      return;
    }
    await withGateway(async (gateway) => {
      const decided = await decide(pool, command, readPayload);
      report(command, decided);
      if (decided.forRun !== undefined) await gateway.deliver(decided.forRun);
    });
  });
}

function report({ eventId }: DecisionCommand, { decision, repeated }: Decided): void {
  const { decision: what, outcome, decidedBy, decidedAt } = decision;
  const before = repeated ? 'nothing to do: ' : '';
  console.log(printable(`${before}${what} ${eventId}: ${outcome}, decided by ${decidedBy} at ${decidedAt}`));
}

async function withGateway(work: (gateway: ExecutionGateway) => Promise<void>): Promise<void> {
  const config = loadConfig();
  const temporal = await connectClient(
    { address: config.TEMPORAL_ADDRESS, namespace: config.TEMPORAL_NAMESPACE },
    createLogger('executions', 'warn'),
  );
  try {
    await work(
      createExecutionGateway(temporal.client, {
        taskQueue: config.TEMPORAL_TASK_QUEUE,
        rpcTimeoutMs: config.TEMPORAL_RPC_TIMEOUT_MS,
      }),
    );
  } finally {
    await temporal.close();
  }
}

function limitOption(): Option {
  return new Option('--limit <count>', `at most so many, up to ${MAX_LIMIT}`)
    .default(DEFAULT_LIMIT)
    .argParser((text) => {
      const count = Number(text);
      if (/^\d+$/.test(text) && count >= 1 && count <= MAX_LIMIT) return count;
      throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_LIMIT}.`);
    });
}

function reasonOption(): Option {
  return new Option('--reason <text>', 'why; it is kept with the decision')
    .makeOptionMandatory()
    .argParser((text) => {
      const reason = text.trim();
      if (reason.length >= 1 && reason.length <= MAX_REASON_CHARACTERS) return reason;
      throw new InvalidArgumentError(`It must have 1 to ${MAX_REASON_CHARACTERS} characters.`);
    });
}

function nameOf(text: string): string {
  if (/^[^\p{Cc}\p{Cs}]{1,256}$/u.test(text)) return text;
  throw new InvalidArgumentError('It must have 1 to 256 characters and no control characters.');
}
