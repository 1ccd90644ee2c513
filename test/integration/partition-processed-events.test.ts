import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { applyExecutions } from '../../src/db/apply-executions';
import { DAYS_AHEAD, listPartitions } from '../../src/db/dedup-partitions';
import { openOrder } from '../../src/db/open-order';
import {
  abandonConversion,
  ConversionError,
  isConversionUnfinished,
  partitionProcessedEvents,
  planConversion,
} from '../../src/db/partition-processed-events';
import { allRows, type Queryable } from '../../src/db/pool';
import { dumpSchema } from '../../src/db/schema-dump';
import type { Execution } from '../../src/domain/execution';
import { packageRoot } from '../../src/package-root';
import { dayAt, noonOfDay } from '../support/dedup-layouts';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { accountRows } from '../support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { waitFor } from '../support/wait-for';

const databases: TestDatabase[] = [];
afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop();
});

async function setup() {
  const database = await createTestDatabase();
  databases.push(database);
  const { pool } = database;
  const anOpenedOrder = async (): Promise<OpenOrderCommand> => {
    const command = anOpenOrder({ quantity: '1000000' });
    await openOrder(pool, command, {});
    return command;
  };
  const apply = async (
    { request: { accountId, clientOrderId } }: OpenOrderCommand,
    ...executions: Execution[]
  ) => {
    const { verdicts } = await applyExecutions(pool, { accountId, clientOrderId, executions });
    return verdicts.map(({ verdict }) => verdict);
  };
  return { database, pool, anOpenedOrder, apply };
}

/** All that a dedup row says, but for the stamp that chooses its partition. */
const dedupRows = (queryable: Queryable) =>
  allRows(queryable, {
    text: `
      select source, event_type, event_id, encode(content_hash, 'hex') as hash, processed_at
      from processed_events order by 1, 2, 3`,
  });

const STAMPS = ['1970-01-01T00:00:00Z', noonOfDay(-40), noonOfDay(0), noonOfDay(3), '9999-12-31T23:59:59Z'];

describe('the conversion to partitions', () => {
  test('of an empty table makes its days, and the second one has nothing to do', async () => {
    const { pool } = await setup();
    const plan = await planConversion(pool);
    expect(await partitionProcessedEvents(pool)).toBe('converted');
    const partitions = await listPartitions(pool);
    expect(partitions.map(({ name }) => name)).toEqual([
      'processed_events_before',
      ...plan!.days.map((day) => `processed_events_p${day.replaceAll('-', '')}`),
      'processed_events_default',
    ]);
    expect(plan!.days).toEqual([2, 3, 4, 5, 6, DAYS_AHEAD].map(dayAt));
    expect(await partitionProcessedEvents(pool)).toBe('already_partitioned');
    expect(await planConversion(pool)).toBeUndefined();
    expect(await listPartitions(pool)).toEqual(partitions);
  });

  test('keeps every row, also of the farthest days, and each is known as before', async () => {
    const { pool, anOpenedOrder, apply } = await setup();
    const command = await anOpenedOrder();
    const events = STAMPS.flatMap((executedAt) => [
      anExecutionOf(command, 'NEW', { executedAt }),
      anExecutionOf(command, 'FILL', { executedAt }),
    ]);
    await apply(command, ...events);
    const [before, books] = [await dedupRows(pool), await accountRows(pool, command.request.accountId)];
    expect(await planConversion(pool)).toMatchObject({ strays: 4 });
    await partitionProcessedEvents(pool);
    expect(await dedupRows(pool)).toEqual(before);
    expect(await apply(command, ...events)).toEqual(events.map(() => 'duplicate'));
    expect(await accountRows(pool, command.request.accountId)).toEqual(books);
    const restamped = events.map((event) => ({ ...event, executedAt: noonOfDay(4) }));
    expect(await apply(command, ...restamped)).toEqual(events.map(() => 'conflict'));
    expect(await dedupRows(pool)).toEqual(before);
  });

  test('while eight connections book fills loses none, doubles none, and fails none', async () => {
    const { pool, anOpenedOrder, apply } = await setup();
    const commands = await Promise.all(Array.from({ length: 8 }, () => anOpenedOrder()));
    const applied: Execution[][] = commands.map(() => []);
    let done = false;
    const writers = commands.map(async (command, at) => {
      for (let round = 0; !done; round += 1) {
        const fill = anExecutionOf(command, 'FILL', { executedAt: STAMPS[round % STAMPS.length]! });
        expect(await apply(command, fill)).toEqual(['applied']);
        applied[at]!.push(fill);
        const earlier = applied[at]![round % applied[at]!.length]!;
        expect(await apply(command, earlier)).toEqual(['duplicate']);
        expect(await apply(command, { ...earlier, executedAt: noonOfDay(5) })).toEqual(['conflict']);
      }
    });
    const booked = () => applied.flat().length;
    const writing = Promise.all(writers);
    await waitFor('fills flow', () => booked() > 100);
    const beforeSwitch = async () => {
      const sofar = booked();
      await waitFor('fills flow while all is prepared', () => booked() > sofar + 100);
    };
    expect(await partitionProcessedEvents(pool, { beforeSwitch })).toBe('converted');
    const atSwitch = booked();
    await waitFor('fills flow afterwards', () => booked() > atSwitch + 100);
    done = true;
    await writing;
    for (const [at, command] of commands.entries()) {
      const rows = await accountRows(pool, command.request.accountId);
      expect(rows['fills']).toHaveLength(applied[at]!.length);
      expect(rows['positions']).toMatchObject([{ quantity: String(applied[at]!.length) }]);
      expect(new Set(await apply(command, ...applied[at]!))).toEqual(new Set(['duplicate']));
    }
    expect(await dedupRows(pool)).toHaveLength(booked());
    const { rows } = await pool.query(
      'select count(distinct tableoid)::integer as "homes" from processed_events',
    );
    expect(rows).toEqual([{ homes: 3 }]);
  });

  test('waits for a long transaction in short pieces, in which fills go on', async () => {
    const { pool, anOpenedOrder, apply } = await setup();
    const command = await anOpenedOrder();
    const backup = await pool.connect();
    const beforeSwitch = async () => {
      await backup.query('begin');
      await backup.query('select count(*) from processed_events');
    };
    const converting = partitionProcessedEvents(pool, { beforeSwitch });
    await waitFor('the switch waits', async () => (await waiting(pool)) === 1);
    expect(await apply(command, anExecutionOf(command, 'FILL'))).toEqual(['applied']);
    await waitFor('it waits again', async () => (await waiting(pool)) === 1);
    await backup.query('commit');
    backup.release();
    expect(await converting).toBe('converted');
  });

  test('that fails leaves the schema as it was', async () => {
    const { pool } = await setup();
    const beforeSwitch = () => Promise.reject(new Error('the disk is full'));
    await expect(partitionProcessedEvents(pool, { beforeSwitch })).rejects.toThrow('the disk is full');
    expect(await dumpSchema(pool)).toBe(committedSchema());
    expect(await partitionProcessedEvents(pool)).toBe('converted');
  });

  test.each(['run again', 'abandoned'] as const)(
    'that is killed before the switch does no harm, and can be %s',
    async (then) => {
      const { pool, anOpenedOrder, apply } = await setup();
      const command = await anOpenedOrder();
      await killedBeforeTheSwitch(pool);
      expect(await isConversionUnfinished(pool)).toBe(true);
      const events = STAMPS.map((executedAt) => anExecutionOf(command, 'FILL', { executedAt }));
      expect(await apply(command, ...events)).toEqual(events.map(() => 'applied'));
      expect(await apply(command, ...events)).toEqual(events.map(() => 'duplicate'));
      if (then === 'abandoned') {
        await abandonConversion(pool);
        expect(await dumpSchema(pool)).toBe(committedSchema());
        expect(await isConversionUnfinished(pool)).toBe(false);
      } else expect(await partitionProcessedEvents(pool)).toBe('converted');
      expect(await apply(command, ...events)).toEqual(events.map(() => 'duplicate'));
    },
  );

  test('of two at once one converts, and the other says that it is not alone', async () => {
    const { pool } = await setup();
    let second: unknown;
    const beforeSwitch = async () => {
      second = await partitionProcessedEvents(pool).catch((error: unknown) => error);
    };
    expect(await partitionProcessedEvents(pool, { beforeSwitch })).toBe('converted');
    expect(second).toBeInstanceOf(ConversionError);
    expect(String(second)).toContain('tekil dedup partition');
  });

  test('with a clock that is far behind the stamps refuses, and changes nothing', async () => {
    const { pool } = await setup();
    await pool.query(`
      insert into processed_events
      select 'SIM', 'NEW', 'N' || i, sha256('x'), now() + interval '3 days' from generate_series(1, 10001) i`);
    await expect(partitionProcessedEvents(pool)).rejects.toThrow('is the clock of the database right?');
    expect(await dumpSchema(pool)).toBe(committedSchema());
  });

  test('keeps the owner and what others may do with the table', async () => {
    const { database, pool } = await setup();
    const role = `tekil_test_${randomUUID().slice(0, 8)}`;
    await pool.query(`create role ${role}`);
    try {
      await pool.query(`grant select, insert on processed_events to ${role}`);
      await partitionProcessedEvents(pool);
      const { rows } = await pool.query(
        `select has_table_privilege($1, 'processed_events', 'select, insert') as "may",
                has_table_privilege($1, 'processed_events', 'delete') as "mayDelete"`,
        [role],
      );
      expect(rows).toEqual([{ may: true, mayDelete: false }]);
    } finally {
      databases.splice(databases.indexOf(database), 1);
      await pool.query(`drop owned by ${role}`);
      await pool.query(`drop role ${role}`);
      await database.drop();
    }
  });
});

describe('the way back', () => {
  test('as the handbook writes it gives the standard layout with all rows', async () => {
    const { pool, anOpenedOrder, apply } = await setup();
    const command = await anOpenedOrder();
    await partitionProcessedEvents(pool);
    const events = STAMPS.map((executedAt) => anExecutionOf(command, 'FILL', { executedAt }));
    await apply(command, ...events);
    const before = await dedupRows(pool);
    const handbook = readFileSync(join(packageRoot(), 'docs', 'operations.md'), 'utf8');
    const [, statements] = /_The way back_[\s\S]*?```sql\n([\s\S]*?)```/.exec(handbook) ?? [];
    await pool.query(statements!);
    expect(await dumpSchema(pool)).toBe(committedSchema());
    expect(await dedupRows(pool)).toEqual(before);
    expect(await apply(command, ...events)).toEqual(events.map(() => 'duplicate'));
  });
});

describe('the partitioned table', () => {
  test('has the columns, checks, defaults and comments of the standard one', async () => {
    const { pool } = await setup();
    const before = await shapeOf(pool, 'processed_events');
    await partitionProcessedEvents(pool);
    expect(await shapeOf(pool, 'processed_events')).toEqual(before);
    for (const { name } of await listPartitions(pool)) {
      expect({ name, ...(await shapeOf(pool, name)), comments: undefined }).toEqual({
        name,
        ...before,
        comments: undefined,
      });
    }
  });

  test('and each partition has the key, the index and the trigger that dedup and purge need, and no other', async () => {
    const { pool } = await setup();
    const standard = await indexesOf(pool, 'processed_events');
    expect(standard).toEqual([
      'UNIQUE INDEX pkey USING btree (source, event_type, event_id)',
      'INDEX processed_at USING btree (processed_at)',
    ]);
    await partitionProcessedEvents(pool);
    for (const name of [
      'processed_events',
      ...(await listPartitions(pool)).map((partition) => partition.name),
    ]) {
      expect([name, ...(await indexesOf(pool, name))]).toEqual([
        name,
        'UNIQUE INDEX pkey USING btree (source, event_type, event_id, event_time)',
        standard[1],
      ]);
      const triggers = await allRows(pool, {
        text: `select tgname as "name" from pg_trigger where tgrelid = $1::regclass`,
        values: [name],
      });
      expect([name, triggers]).toEqual([name, [{ name: 'processed_events_identity' }]]);
    }
  });

  test('is written in read committed transactions only, since no other sees what came just before', async () => {
    const { pool } = await setup();
    await partitionProcessedEvents(pool);
    const connection = await pool.connect();
    try {
      await connection.query('begin isolation level repeatable read');
      const writing = connection.query(
        `insert into processed_events values ('SIM', 'NEW', 'N-1', sha256('x'), now(), now())`,
      );
      await expect(writing).rejects.toThrow('read committed');
    } finally {
      connection.release(true);
    }
  });
});

function committedSchema(): string {
  return readFileSync(join(packageRoot(), 'test', 'schema.sql'), 'utf8');
}

async function waiting(queryable: Queryable): Promise<number> {
  const rows = await allRows(queryable, {
    text: `
      select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and application_name = 'tekil dedup partition'`,
  });
  return rows.length;
}

/** As a killed process leaves it: its connection is gone, and nothing was taken back. */
async function killedBeforeTheSwitch(pool: TestDatabase['pool']): Promise<void> {
  const beforeSwitch = async () => {
    await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'tekil dedup partition'`,
    );
    await waitFor('its backend is gone', async () => {
      const rows = await allRows(pool, {
        text: `select pid from pg_stat_activity
               where datname = current_database() and application_name = 'tekil dedup partition'`,
      });
      return rows.length === 0;
    });
  };
  await expect(partitionProcessedEvents(pool, { beforeSwitch })).rejects.toThrow('could not be taken away');
}

async function shapeOf(queryable: Queryable, table: string): Promise<Record<string, unknown>> {
  const columns = await allRows(queryable, {
    text: `
      select attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid) as default
      from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    values: [table],
  });
  const checks = await allRows(queryable, {
    text: `
      select conname, pg_get_constraintdef(oid) as definition from pg_constraint
      where conrelid = $1::regclass and contype = 'c' order by conname`,
    values: [table],
  });
  const comments = await allRows(queryable, {
    text: `select objsubid, description from pg_description where objoid = $1::regclass order by objsubid`,
    values: [table],
  });
  return { columns, checks, comments };
}

/** The definitions, without the names of table and partition. */
async function indexesOf(queryable: Queryable, table: string): Promise<string[]> {
  const rows = await allRows<{ definition: string }>(queryable, {
    text: `
      select pg_get_indexdef(indexrelid) as "definition" from pg_index
      where indrelid = $1::regclass and indisvalid order by indisunique desc, 1`,
    values: [table],
  });
  return rows.map(({ definition }) =>
    definition
      .replace('CREATE ', '')
      .replace(/INDEX processed_events\w*?_(pkey|processed_at)(_idx)? ON (ONLY )?public\.\w+/, 'INDEX $1'),
  );
}
