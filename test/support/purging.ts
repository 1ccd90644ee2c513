import type { PurgeProgress, TableProgress } from '../../src/contracts/maintenance';
import type { Pool } from '../../src/db/pool';
import { noProgress, runPurge, type PurgeHooks, type PurgePlan } from '../../src/db/purge-run';
import { openPurgeSession, type PurgeSession, type PurgeSessionOptions } from '../../src/db/purge-session';
import { aPlan } from './dedup-rows';

export const SESSION: PurgeSessionOptions = { lockTimeoutMs: 200, statementTimeoutMs: 5_000 };

/** A session that holds the lock of the purge. @throws when somebody else does. */
export async function aPurgeSession(pool: Pool, name = 'test', options = SESSION): Promise<PurgeSession> {
  const result = await openPurgeSession(pool, name, options);
  if (!('session' in result)) throw new Error(`held by ${JSON.stringify(result.heldBy)}`);
  return result.session;
}

export interface PurgeOptions extends Partial<PurgeHooks> {
  readonly plan?: PurgePlan;
  readonly start?: PurgeProgress;
  readonly session?: PurgeSession;
}

/** Runs a purge as its activity does, without waiting between the batches, and tells what became of each table. */
export async function purge(
  pool: Pool,
  options: PurgeOptions = {},
): Promise<Readonly<Record<TableProgress['table'], TableProgress>>> {
  const plan = options.plan ?? aPlan();
  const session = options.session ?? (await aPurgeSession(pool));
  try {
    const { tables } = await runPurge(session, plan, options.start ?? noProgress(plan), {
      onBatch: options.onBatch ?? (() => undefined),
      pause: options.pause ?? (() => Promise.resolve()),
    });
    return Object.fromEntries(tables.map((table) => [table.table, table])) as never;
  } finally {
    session.close();
  }
}
