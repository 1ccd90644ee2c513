import {
  BEFORE_PARTITION,
  DEFAULT_PARTITION,
  keepPartitions,
  listPartitions,
  type PartitionUpkeep,
} from './dedup-partitions';
import { purgeRowsOf, type DedupRowsTable } from './purge-processed-events';
import type { EndOldRows } from './purge-table';

/** The rows that belong to no single day end in batches: first these, then those. */
const BATCHED: readonly DedupRowsTable[] = [DEFAULT_PARTITION, BEFORE_PARTITION];

/**
 * Ends the old rows of the partitioned layout. The first call of a run makes partitions ahead and drops the days that
 * are past the window; each later one deletes a batch of the rows that belong to no single day.
 */
export const purgeProcessedPartitions: EndOldRows = async (session, request) => {
  const [first, place] = request.cursor?.split(' ') ?? [];
  const reached = BATCHED.findIndex((name) => name === first);
  if (reached === -1) return upkeepFirst(session, request);
  const present = (await listPartitions(session)).map(({ name }) => name);
  const [table = DEFAULT_PARTITION, next] = BATCHED.slice(reached).filter((name) => present.includes(name));
  const cursor = table === first ? place : undefined;
  const batch = await purgeRowsOf(table)(session, { ...request, cursor });
  if (batch.more || next === undefined) {
    return { ...batch, cursor: batch.cursor === undefined ? table : `${table} ${batch.cursor}` };
  }
  return { ...batch, more: true, cursor: next };
};

const upkeepFirst: EndOldRows = async (session, { windowMs }) => {
  const upkeep = await keepPartitions(session, windowMs);
  const remark = remarkOn(upkeep);
  return {
    rows: upkeep.dropped.reduce((sum, { estimatedRows }) => sum + estimatedRows, 0),
    more: true,
    through: undefined,
    until: upkeep.until,
    cursor: DEFAULT_PARTITION,
    ...(remark === '' ? {} : { remark }),
  };
};

function remarkOn({ waiting, leftInDefault, busy }: PartitionUpkeep): string {
  return [
    ...waiting.map((name) => `${name} holds late events that are not past the window yet`),
    ...leftInDefault.map(
      (name) => `${name} was not made: the default partition holds too many of its rows to move`,
    ),
    ...busy.map((name) => `a lock for ${name} was not to be had, the next run tries again`),
  ].join('; ');
}
