import { DedupLayoutError } from '../../src/db/check-dedup-layout';
import { Lifecycle } from '../../src/lifecycle';
import { silentLogger } from '../../src/observability/logger';
import { requireDedupLayout } from '../../src/services/process-parts';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { waitFor } from '../support/wait-for';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await database.drop();
});

const loseKey = () => database.pool.query('alter table fills drop constraint fills_execution_unique');

function setup() {
  const lifecycle = new Lifecycle(silentLogger());
  const failures: unknown[] = [];
  const start = () =>
    requireDedupLayout(lifecycle, database.pool, silentLogger(), (error) => failures.push(error));
  return { lifecycle, failures, start };
}

describe('a process that books or delivers executions', () => {
  test('starts on a database that knows repeats', async () => {
    const { failures, start } = setup();
    await start();
    expect(failures).toEqual([]);
  });

  test('refuses to start on one that would not', async () => {
    await loseKey();
    await expect(setup().start()).rejects.toThrow(DedupLayoutError);
  });

  test('starts while the database does not answer, and ends when that turns out to know no repeats', async () => {
    await loseKey();
    const { lifecycle, failures, start } = setup();
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    // A database that is down cannot be had for the first question and be up for the second.
    const silent = jest.spyOn(database.pool, 'query').mockImplementation(() => {
      throw refused;
    });
    await start();
    silent.mockRestore();
    await waitFor('the process to be told to end', () => failures.length > 0);
    expect(failures[0]).toBeInstanceOf(DedupLayoutError);
    await lifecycle.stop();
  });
});
