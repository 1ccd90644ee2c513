import { assert } from '../domain/assert';
import { allRows, firstRow, type Queryable } from './pool';
import type { PurgeSession } from './purge-session';

/** `standard`: one table. `partitioned`: by the day of `event_time`, in UTC; `tekil dedup partition` makes it. */
export type DedupLayout = 'standard' | 'partitioned';

/** Holds the rows from before the conversion; its upper bound is the first day with a partition of its own. */
export const BEFORE_PARTITION = 'processed_events_before';
/** Holds the events of days without a partition: long past, far ahead, or of a day that was dropped. */
export const DEFAULT_PARTITION = 'processed_events_default';

/** Today and so many days more have a partition. When the upkeep stops for longer, the default takes the rows. */
export const DAYS_AHEAD = 7;
/** Of one run, for each of creating and dropping; a run that is due daily needs one. */
const MAX_DAYS_PER_RUN = 64;
/** What a fill may wait for behind this work, which takes milliseconds once it has its locks. */
const LOCK_TIMEOUT_MS = 500;
/** The same for what comes once fills do wait. */
const LOCKED_TIMEOUT_MS = 100;
const STATEMENT_TIMEOUT_MS = 5_000;
/** Rows that are moved under a lock from the default partition to the day that they belong to. */
const MAX_MOVED_ROWS = 10_000;
const LOCK_NOT_AVAILABLE = '55P03';

export interface PartitionUpkeep {
  /** Partitions of today and of coming days. */
  readonly created: readonly string[];
  /** Days past the window. The rows are the server's estimate: counting them would cost what dropping saves. */
  readonly dropped: readonly { readonly name: string; readonly estimatedRows: number }[];
  /** Past the window by their events' time, with rows that were processed within it: late events. */
  readonly waiting: readonly string[];
  /** Days that stay in the default partition, which holds too many of their rows to move. */
  readonly leftInDefault: readonly string[];
  /** A lock was not to be had in time; the next run tries again. */
  readonly busy: readonly string[];
  /** Where the window begins; RFC 3339, the database's clock. */
  readonly until: string;
}

type Lists = Omit<PartitionUpkeep, 'until'>;
type Upkeep = { readonly [K in keyof Lists]: Lists[K][number][] };

/** A partition of `processed_events`; the bounds are RFC 3339 texts, null without a bound. */
export interface Partition {
  readonly name: string;
  readonly from: string | null;
  readonly to: string | null;
  /** The server's estimate; 0 before its first look at the table. */
  readonly estimatedRows: number;
  readonly bytes: string;
}

/** Which layout the database has. */
export async function dedupLayout(queryable: Queryable): Promise<DedupLayout> {
  const row = await firstRow<{ kind: string }>(queryable, {
    text: `select relkind::text as "kind" from pg_class where oid = 'processed_events'::regclass`,
  });
  return row?.kind === 'p' ? 'partitioned' : 'standard';
}

/** The partitions, oldest first, the default one last; none on the standard layout. */
export async function listPartitions(queryable: Queryable): Promise<Partition[]> {
  // The bounds come as the text of this session's time zone, and are read back in it.
  return allRows<Partition>(queryable, {
    text: `
      with p as (
        select c.relname as name, c.reltuples, c.oid, pg_get_expr(c.relpartbound, c.oid) as bound
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'processed_events'::regclass
      ), b as (
        select p.*, (regexp_match(bound, $$FROM \\('([^']+)'\\)$$))[1]::timestamptz as lower_bound,
               (regexp_match(bound, $$TO \\('([^']+)'\\)$$))[1]::timestamptz as upper_bound
        from p
      )
      select name as "name",
             to_char(lower_bound at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "from",
             to_char(upper_bound at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "to",
             greatest(reltuples, 0)::float8 as "estimatedRows",
             pg_total_relation_size(oid)::text as "bytes"
      from b order by upper_bound nulls last, name`,
  });
}

/**
 * What a partitioned database needs each day: partitions for coming days, and those past the window dropped. All by
 * the database's clock. It may end anywhere: each partition is a transaction of its own, and nothing is left half done.
 *
 * A day is dropped in one transaction with a look at its newest row, under a lock that keeps late events out. That
 * rules out `detach … concurrently`, which besides PostgreSQL does not allow next to a default partition.
 */
export async function keepPartitions(session: PurgeSession, windowMs: number): Promise<PartitionUpkeep> {
  const upkeep: Upkeep = { created: [], dropped: [], waiting: [], leftInDefault: [], busy: [] };
  await whileLocksAreHad(await missingDays(session), upkeep, partitionOfDay, async (day) => {
    const made = await inShortTransaction(session, (connection) => createDay(connection, day));
    (made ? upkeep.created : upkeep.leftInDefault).push(partitionOfDay(day));
  });
  const until = await windowStart(session, windowMs);
  const ended = (await listPartitions(session)).filter(
    ({ to }) => to !== null && Date.parse(to) <= Date.parse(until),
  );
  await whileLocksAreHad(ended, upkeep, nameOf, async ({ name, estimatedRows }) => {
    const gone =
      !(await hasRowsWithin(session, name, windowMs)) &&
      (await inShortTransaction(session, (connection) => dropPartition(connection, name, windowMs)));
    if (gone) upkeep.dropped.push({ name, estimatedRows });
    else upkeep.waiting.push(name);
  });
  return { ...upkeep, until };
}

/** Whoever holds a lock holds it for the next partition, too; and each attempt makes fills wait. */
async function whileLocksAreHad<T>(
  items: readonly T[],
  { busy }: Upkeep,
  name: (item: T) => string,
  work: (item: T) => Promise<void>,
): Promise<void> {
  for (const item of items.slice(0, MAX_DAYS_PER_RUN)) {
    if (!(await withoutTheLock(() => work(item)))) continue;
    busy.push(name(item));
    return;
  }
}

const nameOf = ({ name }: Partition): string => name;

/** `2026-12-03` → `processed_events_p20261203`. */
export function partitionOfDay(day: string): string {
  return `processed_events_p${day.replaceAll('-', '')}`;
}

/**
 * Makes the partition of a day (`YYYY-MM-DD`, UTC) and moves into it what the default partition holds of that day.
 * Keeps others from the default partition meanwhile. False when there are too many such rows: they stay where they are.
 */
export async function createDay(connection: Queryable, day: string): Promise<boolean> {
  const name = partitionOfDay(day);
  const [from, to] = [
    `'${day} 00:00:00+00'::timestamptz`,
    `'${day} 00:00:00+00'::timestamptz + interval '24 hours'`,
  ];
  await connection.query({
    text: `
      lock table only processed_events in share update exclusive mode;
      lock table ${DEFAULT_PARTITION} in access exclusive mode`,
  });
  const strays = await firstRow<{ count: number }>(connection, {
    text: `
      select count(*)::integer as "count" from (
        select from ${DEFAULT_PARTITION} where event_time >= ${from} and event_time < ${to}
        limit ${MAX_MOVED_ROWS + 1}) as found`,
  });
  if ((strays?.count ?? 0) > MAX_MOVED_ROWS) return false;
  await connection.query({
    text: `
      create table ${name} (like processed_events including defaults including constraints);
      with moved as (
        delete from ${DEFAULT_PARTITION} where event_time >= ${from} and event_time < ${to} returning *
      )
      insert into ${name} select * from moved;
      alter table processed_events attach partition ${name} for values from (${from}) to (${to})`,
  });
  return true;
}

/** True when the rows of this day may go: nothing can be written to it any more, and its newest row is past the window. */
async function dropPartition(connection: Queryable, name: string, windowMs: number): Promise<boolean> {
  // Whoever uses a partition has gone through the table first. What may be left in the partitions is a transaction that
  // is letting go of its locks in this moment, or an autovacuum, which is not worth a wait with the table locked.
  await connection.query({
    text: `
      lock table only processed_events in access exclusive mode;
      set local lock_timeout = ${LOCKED_TIMEOUT_MS};
      lock table ${DEFAULT_PARTITION}, ${name} in access exclusive mode`,
  });
  if (await hasRowsWithin(connection, name, windowMs)) return false;
  await connection.query({ text: `drop table ${name}` });
  return true;
}

async function hasRowsWithin(queryable: Queryable, name: string, windowMs: number): Promise<boolean> {
  const row = await firstRow<{ found: boolean }>(queryable, {
    text: `
      select coalesce(max(processed_at) >= now() - make_interval(secs => $1::float8 / 1000), false) as "found"
      from ${name}`,
    values: [windowMs],
  });
  return row?.found !== false;
}

/** Of today and the days ahead, those that no partition covers. */
async function missingDays(queryable: Queryable): Promise<string[]> {
  const partitions = await listPartitions(queryable);
  const days = await allRows<{ day: string }>(queryable, {
    text: `
      select to_char((now() at time zone 'UTC')::date + ahead, 'YYYY-MM-DD') as "day"
      from generate_series(0, $1::integer) as ahead order by ahead`,
    values: [DAYS_AHEAD],
  });
  const covered = (day: string) =>
    partitions.some(({ from, to }) => {
      const start = `${day}T00:00:00Z`;
      return to !== null && (from ?? '') <= start && start < to;
    });
  return days.map(({ day }) => day).filter((day) => !covered(day));
}

async function windowStart(queryable: Queryable, windowMs: number): Promise<string> {
  const row = await firstRow<{ until: string }>(queryable, {
    text: `
      select to_char((now() - make_interval(secs => $1::float8 / 1000)) at time zone 'UTC',
                     'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "until"`,
    values: [windowMs],
  });
  assert(row !== undefined, 'a select of one row gives one row');
  return row.until;
}

async function inShortTransaction<T>(
  session: PurgeSession,
  work: (connection: Queryable) => Promise<T>,
): Promise<T> {
  return session.transaction(async (connection) => {
    await limitWaits(connection);
    return work(connection);
  });
}

/** Bounds this transaction's waits for locks, during which others wait behind it, and its statements. */
export async function limitWaits(connection: Queryable): Promise<void> {
  await connection.query({ text: `set local lock_timeout = ${LOCK_TIMEOUT_MS}` });
  await connection.query({ text: `set local statement_timeout = ${STATEMENT_TIMEOUT_MS}` });
}

/** True when the work failed for want of a lock. */
export async function withoutTheLock(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return false;
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    if (code === LOCK_NOT_AVAILABLE) return true;
    throw error;
  }
}
