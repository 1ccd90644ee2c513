import { setTimeout as pause } from 'node:timers/promises';
import { createDay, DAYS_AHEAD, dedupLayout, partitionOfDay, withoutTheLock } from './dedup-partitions';
import { BOUND, boundTable, NEW_KEY, switchLayout, unboundTable } from './partitioned-layout';
import { firstRow, type Pool, type Queryable } from './pool';
import { openPurgeSession, type PurgeSession } from './purge-session';

/** The old table keeps today and tomorrow, which is time enough for the preparation. */
const BOUND_DAYS = 2;
/** Rows stamped beyond the bound; more means that the database's clock is wrong. */
const MAX_STRAYS = 10_000;
/** What locks is short, and what fills may wait behind it is, too. */
const SHORT = { lockTimeoutMs: 500, statementTimeoutMs: 5_000 };
/** It is tried for so often, with a pause in which all who waited get through. */
const LOCK_ATTEMPTS = 20;
const LOCK_PAUSE_MS = 1_000;

export interface ConversionPlan {
  /** The first day with a partition of its own, `YYYY-MM-DD`, UTC; older rows stay in the old table. */
  readonly firstDay: string;
  readonly days: readonly string[];
  /** The server's estimate of the rows that there are. */
  readonly estimatedRows: number;
  /** Rows stamped on `firstDay` or later. */
  readonly strays: number;
}

export interface ConversionHooks {
  /** Told what comes next. */
  readonly onStep?: (step: string) => void;
  /** Between the preparation and the switch; the tests look at the database here, or end the conversion. */
  readonly beforeSwitch?: () => Promise<void>;
}

/** Raised when the conversion did not happen; the rows are as they were. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

/** What `partitionProcessedEvents` would do now. Undefined when the layout is partitioned already. */
export async function planConversion(queryable: Queryable): Promise<ConversionPlan | undefined> {
  if ((await dedupLayout(queryable)) === 'partitioned') return undefined;
  const row = await firstRow<ConversionPlan>(queryable, {
    text: `
      with bound as (select (now() at time zone 'UTC')::date + $1::integer as day)
      select to_char(bound.day, 'YYYY-MM-DD') as "firstDay",
        (select array_agg(to_char(bound.day + n, 'YYYY-MM-DD') order by n)
         from generate_series(0, $2::integer) as n) as "days",
        (select greatest(reltuples, 0)::float8 from pg_class
         where oid = 'processed_events'::regclass) as "estimatedRows",
        (select count(*)::integer from (
           select from processed_events where event_time >= bound.day::timestamp at time zone 'UTC'
           limit $3::integer) as found) as "strays"
      from bound`,
    values: [BOUND_DAYS, DAYS_AHEAD - BOUND_DAYS, MAX_STRAYS + 1],
  });
  if (row === undefined) throw new ConversionError('the database did not answer with a plan');
  return row;
}

/**
 * Turns `processed_events` into a table that is partitioned by the day of `event_time`, while others read and write it.
 * No row is copied: the old table becomes the partition of all days up to tomorrow. What takes long (a scan and an
 * index) holds nobody up; what locks takes milliseconds and waits at most half a second at a time.
 * Either it is all done, or the table is as before; killed in between it leaves what `abandonConversion` takes away.
 * @param pool one whose statement timeout allows for building an index.
 * @throws {ConversionError} when the table stayed as it was.
 */
export async function partitionProcessedEvents(
  pool: Pool,
  hooks: ConversionHooks = {},
): Promise<'converted' | 'already_partitioned'> {
  return alone(pool, async (session) => {
    const plan = await planConversion(session);
    if (plan === undefined) return 'already_partitioned';
    if (plan.strays > MAX_STRAYS) {
      throw new ConversionError(
        `more than ${MAX_STRAYS} rows are stamped ${plan.firstDay} or later: is the clock of the database right?`,
      );
    }
    try {
      await prepare(session, plan, hooks);
      await hooks.beforeSwitch?.();
      hooks.onStep?.('switching over');
      await underShortLock(session, (connection) => switchOver(connection, plan));
    } catch (error) {
      await undo(session, error);
      throw error;
    }
    return 'converted';
  });
}

/** Takes away what a conversion left that was killed before it switched over. */
export async function abandonConversion(pool: Pool): Promise<void> {
  await alone(pool, async (session) => {
    if ((await dedupLayout(session)) === 'standard') await removePreparations(session);
  });
}

/** True when a conversion was killed before it switched over, or is running. */
export async function isConversionUnfinished(queryable: Queryable): Promise<boolean> {
  const row = await firstRow<{ found: boolean }>(queryable, {
    text: `
      select exists (select from pg_constraint where conname = $1::text
                     and conrelid = 'processed_events'::regclass) as "found"`,
    values: [BOUND],
  });
  return row?.found === true;
}

/** Under the lock of the cleanup, which must not be in the middle of a run when the table becomes another. */
async function alone<T>(pool: Pool, work: (session: PurgeSession) => Promise<T>): Promise<T> {
  const opened = await openPurgeSession(pool, 'tekil dedup partition', SHORT);
  if (!('session' in opened)) {
    const holder =
      opened.heldBy === undefined ? '' : ` (${opened.heldBy.name}, backend ${opened.heldBy.pid})`;
    throw new ConversionError(
      `the cleanup or another conversion is running${holder}: try again when it has ended`,
    );
  }
  try {
    return await work(opened.session);
  } finally {
    opened.session.close();
  }
}

/** Everything that takes long. */
async function prepare(
  session: PurgeSession,
  { firstDay }: ConversionPlan,
  { onStep }: ConversionHooks,
): Promise<void> {
  const bound = startOf(firstDay);
  onStep?.(`bounding the table at ${firstDay}`);
  await underShortLock(session, async (connection) => {
    await connection.query({ text: boundTable(bound) });
  });
  await session.query({
    text: `
      update processed_events set event_time = ${bound} - interval '1 microsecond' where event_time >= ${bound}`,
  });
  await session.query({ text: `alter table processed_events validate constraint ${BOUND}` });
  onStep?.('building the key of the new layout beside the old one');
  await session.query({ text: `drop index concurrently if exists ${NEW_KEY}` });
  await session.query({
    text: `
      create unique index concurrently ${NEW_KEY}
      on processed_events (source, event_type, event_id, event_time)`,
  });
}

/** One transaction, of changes to the catalogue only. */
async function switchOver(connection: Queryable, { firstDay, days }: ConversionPlan): Promise<void> {
  const bound = startOf(firstDay);
  const now = await firstRow<{ early: boolean }>(connection, { text: `select now() < ${bound} as "early"` });
  if (now?.early !== true) {
    throw new ConversionError(`the preparation lasted until ${firstDay}, which bounds it: run it again`);
  }
  await connection.query({ text: switchLayout(bound) });
  for (const day of days) {
    if (!(await createDay(connection, day))) throw new ConversionError(`${partitionOfDay(day)} was not made`);
  }
}

function startOf(day: string): string {
  return `'${day} 00:00:00+00'::timestamptz`;
}

async function undo(session: PurgeSession, error: unknown): Promise<void> {
  try {
    await removePreparations(session);
  } catch {
    const message = error instanceof Error ? error.message : String(error);
    throw new ConversionError(
      `${message}; what was prepared could not be taken away and does no harm: convert again, or abandon it`,
      { cause: error },
    );
  }
}

async function removePreparations(session: PurgeSession): Promise<void> {
  await underShortLock(session, async (connection) => {
    await connection.query({ text: unboundTable() });
  });
  await session.query({ text: `drop index concurrently if exists ${NEW_KEY}` });
}

/** One short transaction, tried again while its locks are not to be had. */
async function underShortLock(
  session: PurgeSession,
  work: (connection: Queryable) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS; attempt += 1) {
    if (!(await withoutTheLock(() => session.transaction(work)))) return;
    if (attempt < LOCK_ATTEMPTS) await pause(LOCK_PAUSE_MS);
  }
  throw new ConversionError(
    `processed_events was in use at each of ${LOCK_ATTEMPTS} attempts; run it again when no long transaction, such as a backup, reads it`,
  );
}
