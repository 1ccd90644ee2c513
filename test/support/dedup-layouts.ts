import { BEFORE_PARTITION, createDay, listPartitions, type DedupLayout } from '../../src/db/dedup-partitions';
import { inTransaction } from '../../src/db/transaction';
import { partitionProcessedEvents } from '../../src/db/partition-processed-events';
import { createTestDatabase, type TestDatabase } from './test-database';

/** For tests whose every sentence must hold on both. */
export const DEDUP_LAYOUTS: readonly DedupLayout[] = ['standard', 'partitioned'];

export async function createDatabaseOf(layout: DedupLayout): Promise<TestDatabase> {
  const database = await createTestDatabase();
  if (layout === 'partitioned') await partitionProcessedEvents(database.pool);
  return database;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Noon of a day by its distance from today, as executions carry it. */
export function noonOfDay(distance: number): string {
  return `${dayAt(distance)}T12:00:00Z`;
}

/** `YYYY-MM-DD`, UTC. */
export function dayAt(distance: number): string {
  return new Date(Date.now() + distance * DAY_MS).toISOString().slice(0, 10);
}

/** A partitioned database in the state in which it is after a month: a partition for each day, none from before. */
export async function createDatabaseOfDays(first: number, last: number): Promise<TestDatabase> {
  const database = await createDatabaseOf('partitioned');
  await database.pool.query(`drop table ${BEFORE_PARTITION}`);
  const days = (await listPartitions(database.pool)).filter(({ to }) => to !== null);
  for (const { name } of days) await database.pool.query(`drop table ${name}`);
  for (let distance = first; distance <= last; distance += 1) {
    await inTransaction(database.pool, (connection) => createDay(connection, dayAt(distance)));
  }
  return database;
}
