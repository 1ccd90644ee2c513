import { Client } from 'pg';
import type { PurgeProgress } from '../../src/contracts/maintenance';
import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import { partitionProcessedEvents } from '../../src/db/partition-processed-events';
import { openPurgeSession, type PurgeSessionOptions } from '../../src/db/purge-session';
import { aPlan, countProcessedEvents, insertProcessedEvents, WINDOW_MS } from '../support/dedup-rows';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { aPurgeSession, purge as runPurge, SESSION, type PurgeOptions } from '../support/purging';
import { accountRows } from '../support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { waitFor } from '../support/wait-for';

const MINUTE_MS = 60_000;

describe('the purge', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await database.drop();
  });

  const purge = (options: PurgeOptions = {}) => runPurge(database.pool, options);
  const opened = (name?: string, options?: PurgeSessionOptions) =>
    aPurgeSession(database.pool, name, options);

  describe('of dedup rows', () => {
    test('takes what is past the window and leaves the rest', async () => {
      const old = await insertProcessedEvents(database.pool, 250, WINDOW_MS);
      const fresh = await insertProcessedEvents(database.pool, 50, WINDOW_MS - MINUTE_MS);
      const { processed_events: done } = await purge();
      expect(done).toMatchObject({ rows: 250, done: true });
      expect(await countProcessedEvents(database.pool, old)).toBe(0);
      expect(await countProcessedEvents(database.pool, fresh)).toBe(50);
    });

    test('goes batch by batch, the oldest first, each committed by itself', async () => {
      await insertProcessedEvents(database.pool, 250, WINDOW_MS);
      const seen: [number, string | undefined][] = [];
      await purge({
        onBatch: ({ tables }, { table, rows }) => {
          if (table === 'processed_events') seen.push([rows, tables[0]!.through]);
        },
      });
      expect(seen.map(([rows]) => rows)).toEqual([100, 100, 50]);
      expect(seen.map(([, through]) => through)).toEqual(seen.map(([, through]) => through).toSorted());
    });

    test('takes many rows of one moment, too', async () => {
      await insertProcessedEvents(database.pool, 1_000, WINDOW_MS);
      await database.pool.query("update processed_events set processed_at = now() - interval '31 days'");
      expect((await purge()).processed_events).toMatchObject({ rows: 1_000, done: true });
    });

    test('finds its rows by the index, however many there are', async () => {
      await insertProcessedEvents(database.pool, 20_000, 0);
      await insertProcessedEvents(database.pool, 100, WINDOW_MS);
      await database.pool.query('vacuum analyze processed_events');
      await database.pool.query('select pg_stat_reset()');
      await purge();
      const scans = await waitFor('the statistics', async () => {
        const { rows } = await database.pool.query<{ index: number; sequential: number }>(
          `select idx_scan::integer as index, seq_scan::integer as sequential
           from pg_stat_user_tables where relname = 'processed_events'`,
        );
        return rows[0]!.index > 0 && rows[0];
      });
      expect(scans.sequential).toBe(0);
    });

    test('is bounded by batches, and the next run goes on', async () => {
      await insertProcessedEvents(database.pool, 250, WINDOW_MS);
      const first = await purge({ plan: aPlan({ maxBatches: 2 }) });
      expect(first.processed_events).toMatchObject({ rows: 200, batches: 2, done: false });
      expect((await purge()).processed_events).toMatchObject({ rows: 50, done: true });
    });

    test('is bounded by time', async () => {
      await insertProcessedEvents(database.pool, 250, WINDOW_MS);
      const { processed_events: events } = await purge({ plan: aPlan({ maxRunMs: 0 }) });
      expect(events).toMatchObject({ rows: 0, done: false });
    });

    test('pauses after each batch at least as long as the batch took', async () => {
      await insertProcessedEvents(database.pool, 250, WINDOW_MS);
      const took: number[] = [];
      const pauses: number[] = [];
      await purge({
        plan: aPlan({ pauseMs: 3 }),
        onBatch: (_progress, { tookMs }) => took.push(tookMs),
        pause: (ms) => Promise.resolve(void pauses.push(ms)),
      });
      expect(pauses).toEqual(took.map((ms) => Math.max(3, ms)));
    });
  });

  describe('whose batches are slow', () => {
    const delay = (seconds: number): Promise<unknown> =>
      database.pool.query(`
        create function slow() returns trigger language plpgsql as
          $$ begin perform pg_sleep(${seconds}); return old; end $$;
        create trigger slow after delete on processed_events for each statement execute function slow()`);

    test('makes them smaller, and larger again when they are quick', async () => {
      await insertProcessedEvents(database.pool, 200, WINDOW_MS);
      await delay(0.7);
      const sizes: number[] = [];
      await purge({
        plan: aPlan({ pace: { maxRows: 100, minRows: 10, slowMs: 600 } }),
        onBatch: ({ tables }, { table }) => {
          if (table === 'processed_events') sizes.push(tables[0]!.batchRows);
        },
        pause: async () => {
          if (sizes.length === 2)
            await database.pool.query('drop trigger if exists slow on processed_events');
        },
      });
      expect(sizes.slice(0, 4)).toEqual([50, 25, 50, 100]);
    });

    test('gives one up that takes longer than a statement may, and tries again with half', async () => {
      await insertProcessedEvents(database.pool, 100, WINDOW_MS);
      await delay(2);
      let pauses = 0;
      const rowsOfBatches: number[] = [];
      const session = await opened('test', { ...SESSION, statementTimeoutMs: 400 });
      const { processed_events: events } = await purge({
        session,
        onBatch: (_progress, { table, rows }) => {
          if (table === 'processed_events') rowsOfBatches.push(rows);
        },
        pause: async () => {
          pauses += 1;
          if (pauses === 2) await database.pool.query('drop trigger slow on processed_events');
        },
      });
      expect(events).toMatchObject({ rows: 100, done: true });
      expect(rowsOfBatches).toEqual([25, 50, 25]);
    });

    test('does not wait long for a table that somebody has locked, and tells why it ends', async () => {
      await insertProcessedEvents(database.pool, 100, WINDOW_MS);
      const other = new Client({ connectionString: database.url });
      await other.connect();
      await other.query('begin; lock table processed_events in exclusive mode');
      await expect(purge()).rejects.toThrow('lock timeout');
      await other.end();
      expect((await purge()).processed_events).toMatchObject({ rows: 100 });
    });
  });

  describe('that is interrupted', () => {
    const killed = async (name: string): Promise<void> => {
      await database.pool.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1::text',
        [name],
      );
      await waitFor('the backend to end', async () => {
        const { rowCount } = await database.pool.query(
          'select from pg_stat_activity where application_name = $1::text',
          [name],
        );
        return rowCount === 0;
      });
    };

    test('in the middle of a batch loses that batch only, and goes on from its last heartbeat', async () => {
      await insertProcessedEvents(database.pool, 250, WINDOW_MS);
      let last: PurgeProgress | undefined;
      let batches = 0;
      const blocked = new Client({ connectionString: database.url });
      await blocked.connect();
      const running = purge({
        session: await opened('doomed'),
        onBatch: (progress) => (last = progress),
        pause: async () => {
          batches += 1;
          if (batches !== 1) return;
          // The next batch waits for this lock, and is killed while it does.
          await blocked.query('begin; lock table processed_events in exclusive mode');
          setTimeout(() => void killed('doomed'), 50);
        },
      });
      await expect(running).rejects.toThrow();
      await blocked.end();
      expect(await countProcessedEvents(database.pool)).toBe(150);
      const { processed_events: events } = await purge({ start: last! });
      expect(events).toMatchObject({ rows: 250, done: true });
      expect(await countProcessedEvents(database.pool)).toBe(0);
    });

    test('between two batches goes on from its last heartbeat', async () => {
      await insertProcessedEvents(database.pool, 250, WINDOW_MS);
      let last: PurgeProgress | undefined;
      const running = purge({
        session: await opened('doomed'),
        onBatch: (progress) => (last = progress),
        pause: () => killed('doomed'),
      });
      await expect(running).rejects.toThrow();
      expect(await countProcessedEvents(database.pool)).toBe(150);
      expect((await purge({ start: last! })).processed_events).toMatchObject({ rows: 250, done: true });
    });

    test('leaves no lock behind', async () => {
      const session = await opened('doomed');
      await killed('doomed');
      (await opened('next')).close();
      session.close();
    });
  });

  test('keeps a second runner out, and says who runs', async () => {
    const first = await opened('the first');
    const second = await openPurgeSession(database.pool, 'the second', SESSION);
    expect(second).toMatchObject({ heldBy: { name: 'the first' } });
    first.close();
    const third = await waitFor('the lock', async () => {
      const result = await openPurgeSession(database.pool, 'the third', SESSION);
      return 'session' in result && result.session;
    });
    third.close();
  });

  test('two at once delete every row once between them', async () => {
    await insertProcessedEvents(database.pool, 2_000, WINDOW_MS);
    const outcomes = await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const result = await openPurgeSession(database.pool, name, SESSION);
        return 'session' in result
          ? (await purge({ session: result.session })).processed_events.rows
          : 'held';
      }),
    );
    expect(outcomes.toSorted()).toEqual([2_000, 'held', 'held']);
  });

  test.each([-1, 1])(
    'does not look at the clock of the worker: %d hours off, it deletes the same',
    async (hours) => {
      await insertProcessedEvents(database.pool, 10, WINDOW_MS);
      await insertProcessedEvents(database.pool, 10, WINDOW_MS - MINUTE_MS);
      const real = Date.now;
      const shifted = jest.spyOn(Date, 'now').mockImplementation(() => real() + hours * 3_600_000);
      try {
        expect((await purge()).processed_events.rows).toBe(10);
      } finally {
        shifted.mockRestore();
      }
      expect(await countProcessedEvents(database.pool)).toBe(10);
    },
  );

  test('of a table that was partitioned meanwhile takes the same rows', async () => {
    const old = await insertProcessedEvents(database.pool, 250, WINDOW_MS);
    const fresh = await insertProcessedEvents(database.pool, 50, WINDOW_MS - MINUTE_MS);
    await partitionProcessedEvents(database.pool);
    expect((await purge()).processed_events).toMatchObject({ rows: 250, done: true });
    expect(await countProcessedEvents(database.pool, old)).toBe(0);
    expect(await countProcessedEvents(database.pool, fresh)).toBe(50);
  });

  describe('and a fill that comes again', () => {
    const aBookedFill = async (ageMs: number) => {
      const command = anOpenOrder();
      await openOrder(database.pool, command, {});
      const { accountId, clientOrderId } = command.request;
      const fill = anExecutionOf(command, 'FILL');
      const apply = () => applyExecutions(database.pool, { accountId, clientOrderId, executions: [fill] });
      await apply();
      await database.pool.query(
        `update processed_events set processed_at = now() - $2::bigint * interval '1 millisecond'
         where event_id = $1::text`,
        [fill.executionId, ageMs],
      );
      const before = await accountRows(database.pool, accountId);
      return {
        comesAgain: async () => (await apply()).verdicts.map(({ verdict }) => verdict),
        before,
        rows: () => accountRows(database.pool, accountId),
      };
    };

    test('a minute before its row goes is a duplicate', async () => {
      const fill = await aBookedFill(WINDOW_MS - MINUTE_MS);
      expect((await purge()).processed_events.rows).toBe(0);
      expect(await fill.comesAgain()).toEqual(['duplicate']);
      expect(await fill.rows()).toEqual(fill.before);
    });

    test('a minute after its row went is outside the window, and changes nothing', async () => {
      const fill = await aBookedFill(WINDOW_MS + MINUTE_MS);
      expect((await purge()).processed_events.rows).toBe(1);
      expect(await fill.comesAgain()).toEqual(['outside_window']);
      expect(await fill.rows()).toEqual(fill.before);
      // Its row is there again: from now on it is a duplicate.
      expect(await fill.comesAgain()).toEqual(['duplicate']);
    });

    test('while its row is being deleted waits for the batch, and is then outside the window', async () => {
      const fill = await aBookedFill(WINDOW_MS + MINUTE_MS);
      const other = new Client({ connectionString: database.url });
      await other.connect();
      await other.query(
        "begin; delete from processed_events where processed_at < now() - interval '30 days'",
      );
      let answered = false;
      const again = fill.comesAgain().finally(() => (answered = true));
      await waitFor('it to wait', async () => {
        const { rowCount } = await database.pool.query(
          "select from pg_stat_activity where wait_event_type = 'Lock'",
        );
        return rowCount === 1;
      });
      expect(answered).toBe(false);
      await other.query('commit');
      await other.end();
      expect(await again).toEqual(['outside_window']);
      expect(await fill.rows()).toEqual(fill.before);
    });
  });
});
