import { Command } from 'commander';
import { registerDedup } from '../../src/cli/dedup';
import { partitionProcessedEvents } from '../../src/db/partition-processed-events';
import { dumpSchema } from '../../src/db/schema-dump';
import { dayAt } from '../support/dedup-layouts';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { waitFor } from '../support/wait-for';

describe('tekil dedup', () => {
  let database: TestDatabase;
  const out: string[] = [];
  beforeEach(async () => {
    database = await createTestDatabase();
    jest.spyOn(console, 'log').mockImplementation((line: string) => void out.push(line));
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await database.drop();
  });

  /** Returns the lines of the standard output. */
  const tekil = async (...words: readonly string[]): Promise<readonly string[]> => {
    out.length = 0;
    const program = new Command('tekil').exitOverride();
    registerDedup(program);
    await program.parseAsync(['dedup', ...words, '--database-url', database.url], { from: 'user' });
    return [...out];
  };

  test('shows the standard layout and tells what a conversion would do, without doing it', async () => {
    await database.pool.query(
      `insert into processed_events values
         ('SIM', 'NEW', 'N-1', sha256('x'), '2026-03-14T09:26:53Z', '2026-03-14T09:26:54Z'),
         ('SIM', 'NEW', 'N-2', sha256('x'), '9999-12-31T00:00:00Z', '2026-03-15T09:26:54Z')`,
    );
    await database.pool.query('analyze processed_events');
    expect(await tekil('status')).toEqual([
      'layout: standard',
      'oldest row processed: 2026-03-14T09:26:54Z',
      expect.stringMatching(/^rows: about 2, \d+ bytes$/),
    ]);
    const before = await dumpSchema(database.pool);
    expect(await tekil('partition', '--dry-run')).toEqual([
      `about 2 rows stay where they are, as the partition of all days before ${dayAt(2)}`,
      `6 partitions would be made, for ${dayAt(2)} to ${dayAt(7)}`,
      '1 rows are stamped later than that and would be kept with the older ones',
    ]);
    expect(await dumpSchema(database.pool)).toBe(before);
  });

  test('converts, shows the partitions, and says so when there is nothing to do', async () => {
    expect(await tekil('partition')).toEqual([
      `bounding the table at ${dayAt(2)}`,
      'building the key of the new layout beside the old one',
      'switching over',
      'partitioned',
    ]);
    const status = await tekil('status');
    expect(status.slice(0, 4)).toEqual([
      'layout: partitioned',
      'oldest row processed: there is none',
      'rows: about 0 in 8 partitions',
      expect.stringMatching(
        `^  processed_events_before  all to ${dayAt(2)}T00:00:00Z  about 0 rows  \\d+ bytes$`,
      ),
    ]);
    expect(status.at(-1)).toMatch(/^ {2}processed_events_default {2}all other days/);
    const nothing = 'nothing to do: it is partitioned already';
    expect(await tekil('partition')).toEqual([nothing]);
    expect(await tekil('partition', '--dry-run')).toEqual([nothing]);
  });

  test('shows that a conversion was killed, and takes away what it left', async () => {
    const killed = partitionProcessedEvents(database.pool, {
      beforeSwitch: async () => {
        await database.pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name = 'tekil dedup partition'`,
        );
        await waitFor('its backend is gone', async () => {
          const { rowCount } = await database.pool.query(
            `select from pg_stat_activity
             where datname = current_database() and application_name = 'tekil dedup partition'`,
          );
          return rowCount === 0;
        });
      },
    });
    await expect(killed).rejects.toThrow('does no harm');
    expect((await tekil('status')).at(-1)).toContain('a conversion is running, or was killed');
    expect(await tekil('partition', '--abandon')).toEqual(['nothing of an unfinished conversion is left']);
    expect(await tekil('status')).toHaveLength(3);
  });
});
