import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { applyExecutions } from '../../src/db/apply-executions';
import {
  DAYS_AHEAD,
  DEFAULT_PARTITION,
  keepPartitions,
  listPartitions,
  partitionOfDay,
  type PartitionUpkeep,
} from '../../src/db/dedup-partitions';
import { openOrder } from '../../src/db/open-order';
import { purgeProcessedPartitions } from '../../src/db/purge-processed-partitions';
import { openPurgeSession, type PurgeSession } from '../../src/db/purge-session';
import type { TransactionHooks } from '../../src/db/transaction';
import type { Execution } from '../../src/domain/execution';
import { createDatabaseOf, createDatabaseOfDays, dayAt, noonOfDay } from '../support/dedup-layouts';
import { countProcessedEvents, DAY_MS, insertProcessedEvents, WINDOW_MS } from '../support/dedup-rows';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { purge } from '../support/purging';
import { accountRows } from '../support/rows';
import type { TestDatabase } from '../support/test-database';
import { waitFor } from '../support/wait-for';

/** The first and the last day past the window, and one within it. */
const OLDEST = -33;
const ENDED = -31;
const YOUNG = -29;

const databases: TestDatabase[] = [];
afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop();
});

/** Two days past the window, and all days since. */
async function setup(create = () => createDatabaseOfDays(OLDEST, DAYS_AHEAD)) {
  const database = await create();
  databases.push(database);
  const { pool } = database;
  const command = anOpenOrder({ quantity: '1000000' });
  await openOrder(pool, command, {});
  const apply = async (executions: readonly Execution[], hooks?: TransactionHooks) => {
    const { verdicts } = await applyExecutions(pool, { ...keyOf(command), executions }, hooks);
    return verdicts.map(({ verdict }) => verdict);
  };
  const aFill = (executedAt: string) => anExecutionOf(command, 'FILL', { executedAt });
  /** As if it had been processed when it happened. */
  const processedInTime = async (...executions: readonly Execution[]) => {
    await apply(executions);
    await pool.query('update processed_events set processed_at = event_time where event_id = any($1)', [
      executions.map(({ executionId }) => executionId),
    ]);
  };
  return {
    ...{ database, pool, command, apply, aFill, processedInTime },
    keep: () => withSession(database, (session) => keepPartitions(session, WINDOW_MS)),
    names: async () => (await listPartitions(pool)).map(({ name }) => name),
    homeOf: async ({ executionId }: Execution) => {
      const { rows } = await pool.query<{ home: string }>(
        'select tableoid::regclass::text as "home" from processed_events where event_id = $1',
        [executionId],
      );
      return rows.map(({ home }) => home);
    },
  };
}

const keyOf = ({ request: { accountId, clientOrderId } }: OpenOrderCommand) => ({ accountId, clientOrderId });
const nothing: Omit<PartitionUpkeep, 'until'> = {
  created: [],
  dropped: [],
  waiting: [],
  leftInDefault: [],
  busy: [],
};

async function withSession<T>(
  { pool }: TestDatabase,
  work: (session: PurgeSession) => Promise<T>,
  beforeCommit: () => void = () => undefined,
): Promise<T> {
  const options = { lockTimeoutMs: 500, statementTimeoutMs: 5_000, beforeCommit };
  // The connection of the session before may still be closing, and hold the lock.
  const opened = await waitFor('the lock of the purge', async () => {
    const answer = await openPurgeSession(pool, 'tekil test', options);
    return 'session' in answer && answer;
  });
  try {
    return await work(opened.session);
  } finally {
    opened.session.close();
  }
}

const waitsForALock = async ({ pool }: TestDatabase) =>
  (
    await pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
  ).rowCount === 1;

describe('coming days', () => {
  test('get partitions ahead, and the next run has nothing to do', async () => {
    const { keep, names, pool } = await setup();
    await pool.query(`drop table ${partitionOfDay(dayAt(DAYS_AHEAD))}, ${partitionOfDay(dayAt(0))}`);
    const { created } = await keep();
    expect(created).toEqual([partitionOfDay(dayAt(0)), partitionOfDay(dayAt(DAYS_AHEAD))]);
    expect(await names()).toEqual(expect.arrayContaining([...created]));
    expect(await keep()).toMatchObject({ created: [] });
  });

  test('take the rows over that the default partition holds of them, and a repeat is known all the time', async () => {
    const { keep, homeOf, apply, aFill, pool } = await setup();
    await pool.query(`drop table ${partitionOfDay(dayAt(2))}`);
    const [moved, stays] = [aFill(noonOfDay(2)), aFill(noonOfDay(DAYS_AHEAD + 2))];
    await apply([moved, stays]);
    expect(await homeOf(moved)).toEqual([DEFAULT_PARTITION]);
    await keep();
    expect(await homeOf(moved)).toEqual([partitionOfDay(dayAt(2))]);
    expect(await homeOf(stays)).toEqual([DEFAULT_PARTITION]);
    expect(await apply([moved, stays])).toEqual(['duplicate', 'duplicate']);
    expect(await apply([{ ...moved, executedAt: noonOfDay(1) }])).toEqual(['conflict']);
  });

  test('stay in the default partition when it holds too many of their rows to move under a lock', async () => {
    const { keep, pool } = await setup();
    const day = dayAt(2);
    await pool.query(`drop table ${partitionOfDay(day)}`);
    await pool.query(
      `insert into processed_events
       select 'SIM', 'NEW', 'N' || i, sha256('x'), $1::timestamptz from generate_series(1, 10001) i`,
      [`${day}T12:00:00Z`],
    );
    expect(await keep()).toMatchObject({ created: [], leftInDefault: [partitionOfDay(day)] });
    const { rows } = await pool.query(`select count(*)::integer as "count" from ${DEFAULT_PARTITION}`);
    expect(rows).toEqual([{ count: 10_001 }]);
  });

  test('are UTC days, whatever time zone and date style the session has', async () => {
    const { database, pool, apply, aFill, homeOf, names } = await setup();
    const day = dayAt(DAYS_AHEAD);
    await pool.query(`drop table ${partitionOfDay(day)}`);
    const before = await names();
    const keepAbroad = () =>
      withSession(database, async (session) => {
        await session.query({ text: `set timezone = 'America/New_York'; set datestyle = 'SQL, DMY'` });
        return keepPartitions(session, WINDOW_MS);
      });
    const { created, dropped } = await keepAbroad();
    expect({ created, dropped: dropped.map(({ name }) => name) }).toEqual({
      created: [partitionOfDay(day)],
      dropped: before.slice(0, ENDED - OLDEST + 1),
    });
    expect(await keepAbroad()).toMatchObject(nothing);
    const edges = [aFill(`${day}T00:00:00Z`), aFill(`${day}T23:59:59.999999Z`)];
    await apply(edges);
    expect(await Promise.all(edges.map(homeOf))).toEqual([[partitionOfDay(day)], [partitionOfDay(day)]]);
  });
});

describe('days past the window', () => {
  test('are dropped, and no other day is', async () => {
    const { keep, names, processedInTime, aFill, homeOf } = await setup();
    const [old, young] = [aFill(noonOfDay(ENDED)), aFill(noonOfDay(YOUNG))];
    await processedInTime(old, young);
    const before = await names();
    const { dropped, ...rest } = await keep();
    const ended = [OLDEST, -32, ENDED].map((distance) => partitionOfDay(dayAt(distance)));
    expect(dropped.map(({ name }) => name)).toEqual(ended);
    expect(rest).toMatchObject({ created: [], waiting: [], busy: [] });
    expect(await names()).toEqual(before.filter((name) => !ended.includes(name)));
    expect(await homeOf(young)).toEqual([partitionOfDay(dayAt(YOUNG))]);
    expect(await keep()).toMatchObject(nothing);
  });

  test('a fill of a dropped day that comes again is outside the window, and changes nothing', async () => {
    const { keep, processedInTime, apply, aFill, homeOf, pool, command } = await setup();
    const fill = aFill(noonOfDay(ENDED));
    await processedInTime(fill);
    const rows = () => accountRows(pool, command.request.accountId);
    const before = await rows();
    expect(await apply([fill])).toEqual(['duplicate']);
    await keep();
    expect(await apply([fill])).toEqual(['outside_window']);
    expect(await rows()).toEqual(before);
    expect(await homeOf(fill)).toEqual([DEFAULT_PARTITION]);
    expect(await apply([fill])).toEqual(['duplicate']);
  });

  test('a fill of a dropped day that comes for the first time is booked once', async () => {
    const { keep, apply, aFill, homeOf } = await setup();
    await keep();
    const fill = aFill(noonOfDay(ENDED));
    expect(await apply([fill, fill])).toEqual(['applied', 'duplicate']);
    expect(await homeOf(fill)).toEqual([DEFAULT_PARTITION]);
    expect(await apply([fill])).toEqual(['duplicate']);
    expect(await apply([{ ...fill, executedAt: noonOfDay(0) }])).toEqual(['conflict']);
  });

  test('a day waits for its late event until that one is past the window, too', async () => {
    const { keep, names, apply, aFill, pool } = await setup();
    const late = aFill(noonOfDay(ENDED));
    await apply([late]);
    const name = partitionOfDay(dayAt(ENDED));
    expect(await keep()).toMatchObject({ waiting: [name] });
    expect(await apply([late])).toEqual(['duplicate']);
    await pool.query(`update ${name} set processed_at = now() - interval '30 days 1 minute'`);
    expect((await keep()).dropped).toMatchObject([{ name }]);
    expect(await names()).not.toContain(name);
  });

  test('a late event that is being applied while its day is about to be dropped keeps it', async () => {
    const { database, keep, apply, aFill } = await setup(() => createDatabaseOfDays(ENDED, DAYS_AHEAD));
    const late = aFill(noonOfDay(ENDED));
    let keeping: Promise<PartitionUpkeep> | undefined;
    await apply([late], {
      beforeCommit: async () => {
        keeping = keep();
        await waitFor('the upkeep waits for the lock', () => waitsForALock(database));
      },
    });
    expect(await keeping).toMatchObject({ ...nothing, waiting: [partitionOfDay(dayAt(ENDED))] });
    expect(await apply([late])).toEqual(['duplicate']);
  });

  test('a long transaction holds nobody up for longer than the bound, and the next run goes on', async () => {
    const { keep, pool, apply, aFill, names } = await setup();
    const backup = await pool.connect();
    await backup.query('begin');
    await backup.query('select count(*) from processed_events');
    const before = await names();
    const [upkeep, verdicts] = await Promise.all([keep(), apply([aFill(noonOfDay(0))])]);
    expect(upkeep).toMatchObject({ ...nothing, busy: [partitionOfDay(dayAt(OLDEST))] });
    expect(verdicts).toEqual(['applied']);
    expect(await names()).toEqual(before);
    await backup.query('commit');
    backup.release();
    expect((await keep()).dropped).toHaveLength(3);
  });

  test('an upkeep that ends before any of its commits leaves whole days, and the next one does the rest', async () => {
    const { database, keep, names, pool } = await setup();
    await pool.query(`drop table ${partitionOfDay(dayAt(3))}, ${partitionOfDay(dayAt(4))}`);
    const target = (await names()).length + 2 - 3;
    for (let survived = 0; survived < 5; survived += 1) {
      let commits = 0;
      const dying = withSession(
        database,
        (session) => keepPartitions(session, WINDOW_MS),
        () => {
          commits += 1;
          if (commits > 1) throw new Error('the power is gone');
        },
      );
      if (survived < 4) await expect(dying).rejects.toThrow('the power is gone');
      else await dying;
    }
    expect(await names()).toHaveLength(target);
    expect(await keep()).toMatchObject(nothing);
  });
});

describe('the purge of the partitioned layout', () => {
  test('drops days, ends the rows of no single day in batches, and touches nothing within the window', async () => {
    const { database, pool, apply, aFill, processedInTime, names } = await setup(() =>
      createDatabaseOf('partitioned'),
    );
    // On the first page of each partition, so that their places are the same.
    const old = [aFill('1970-01-01T00:00:00Z'), aFill(noonOfDay(-40)), aFill(noonOfDay(-39))];
    const young = [aFill(noonOfDay(-1)), aFill(noonOfDay(2)), aFill(noonOfDay(3)), aFill(noonOfDay(50))];
    await processedInTime(...old);
    await apply(young);
    await pool.query(`
      insert into ${DEFAULT_PARTITION}
      select 'SIM', 'NEW', 'D' || i, sha256('x'), '9999-01-01', now() - interval '31 days' from generate_series(1, 25) i`);

    let cursor: string | undefined;
    let rows = 0;
    let calls = 0;
    await withSession(database, async (session) => {
      for (let more = true; more; calls += 1) {
        const ended = await purgeProcessedPartitions(session, { windowMs: WINDOW_MS, limit: 10, cursor });
        ({ cursor, more } = ended);
        rows += ended.rows;
      }
    });
    expect({ rows, calls }).toEqual({ rows: 28, calls: 5 });
    const { rows: left } = await pool.query<{ id: string }>('select event_id as "id" from processed_events');
    expect(left.map(({ id }) => id).toSorted()).toEqual(
      young.map(({ executionId }) => executionId).toSorted(),
    );
    expect(await names()).toContain('processed_events_before');
  });

  test('is what a run of the cleanup does there: whole days, then the rest, and it says what waits', async () => {
    const { pool, apply, aFill } = await setup();
    const late = aFill(noonOfDay(-32));
    await apply([late]);
    const [old, stray, young] = [
      await insertProcessedEvents(pool, 500, WINDOW_MS + 3 * DAY_MS),
      await insertProcessedEvents(pool, 250, WINDOW_MS + 10 * DAY_MS),
      await insertProcessedEvents(pool, 500, WINDOW_MS - DAY_MS),
    ];
    await pool.query('analyze processed_events');
    const { processed_events: done } = await purge(pool);
    expect(done).toMatchObject({ rows: 750, done: true });
    expect(done.remark).toBe(
      `${partitionOfDay(dayAt(-32))} holds late events that are not past the window yet`,
    );
    expect(
      await Promise.all([old, stray, young].map((source) => countProcessedEvents(pool, source))),
    ).toEqual([0, 0, 500]);
    expect(await apply([late])).toEqual(['duplicate']);
  });

  test('drops the rows from before the conversion as one when all of its days are past the window', async () => {
    const { pool, keep, names, apply, aFill } = await setup(() => createDatabaseOf('partitioned'));
    await apply([aFill(noonOfDay(-1))]);
    expect(await keep()).toMatchObject(nothing);
    // The bound lies two days ahead; as if a month had passed since.
    await pool.query('alter table processed_events detach partition processed_events_before');
    await pool.query("update processed_events_before set event_time = '2020-01-01'");
    await pool.query(
      `alter table processed_events attach partition processed_events_before for values from (minvalue) to ('${dayAt(-31)} 00:00:00Z')`,
    );
    expect(await keep()).toMatchObject({ waiting: ['processed_events_before'] });
    await pool.query("update processed_events_before set processed_at = now() - interval '31 days'");
    expect((await keep()).dropped).toMatchObject([{ name: 'processed_events_before' }]);
    expect(await names()).not.toContain('processed_events_before');
  });
});
