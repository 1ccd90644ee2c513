import type { Command } from 'commander';
import { dedupLayout, listPartitions } from '../db/dedup-partitions';
import {
  abandonConversion,
  isConversionUnfinished,
  partitionProcessedEvents,
  planConversion,
} from '../db/partition-processed-events';
import { createPool, firstRow, type Pool } from '../db/pool';
import { createLogger } from '../observability/logger';
import { databaseUrlOption } from './database-url';
import { withPool } from './with-pool';

const CONNECT_TIMEOUT_MS = 5_000;
/** Of the longest statement, which builds an index over all rows and waits for older transactions to end. */
const INDEX_TIMEOUT_MS = 12 * 60 * 60 * 1_000;

interface DatabaseOptions {
  readonly databaseUrl: string;
}

interface PartitionOptions extends DatabaseOptions {
  readonly dryRun?: boolean;
  readonly abandon?: boolean;
}

/** `tekil dedup status|partition`: how the dedup rows are kept. */
export function registerDedup(program: Command): void {
  const group = program.command('dedup').description('see and choose how the dedup rows are kept');
  group
    .command('status')
    .description('show the layout, the rows and the oldest of them')
    .addOption(databaseUrlOption())
    .action(({ databaseUrl }: DatabaseOptions) => withPool('dedup', databaseUrl, printStatus));
  group
    .command('partition')
    .description(
      'keep the dedup rows by the day of the event, for large installations; while everything runs, and again without effect',
    )
    .option('--dry-run', 'only tell what would be done')
    .option('--abandon', 'take away what a conversion left that was killed')
    .addOption(databaseUrlOption())
    .action(partition);
}

async function partition({ databaseUrl, dryRun, abandon }: PartitionOptions): Promise<void> {
  if (dryRun === true) {
    await withPool('dedup', databaseUrl, printPlan);
    return;
  }
  const pool = createPool(
    {
      connectionString: databaseUrl,
      size: 1,
      statementTimeoutMs: INDEX_TIMEOUT_MS,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      applicationName: 'tekil dedup',
    },
    createLogger('dedup', 'warn'),
  );
  try {
    if (abandon === true) {
      await abandonConversion(pool);
      console.log('nothing of an unfinished conversion is left');
      return;
    }
    const outcome = await partitionProcessedEvents(pool, { onStep: console.log });
    console.log(outcome === 'converted' ? 'partitioned' : 'nothing to do: it is partitioned already');
  } finally {
    await pool.end();
  }
}

async function printPlan(pool: Pool): Promise<void> {
  const plan = await planConversion(pool);
  if (plan === undefined) {
    console.log('nothing to do: it is partitioned already');
    return;
  }
  const last = plan.days.at(-1) ?? plan.firstDay;
  console.log(
    `about ${plan.estimatedRows} rows stay where they are, as the partition of all days before ${plan.firstDay}`,
  );
  console.log(`${plan.days.length} partitions would be made, for ${plan.firstDay} to ${last}`);
  if (plan.strays > 0) {
    console.log(`${plan.strays} rows are stamped later than that and would be kept with the older ones`);
  }
}

async function printStatus(pool: Pool): Promise<void> {
  const layout = await dedupLayout(pool);
  console.log(`layout: ${layout}`);
  const oldest = await firstRow<{ text: string | null }>(pool, {
    text: `
      select to_char(min(processed_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "text"
      from processed_events`,
  });
  console.log(`oldest row processed: ${oldest?.text ?? 'there is none'}`);
  if (layout === 'standard') {
    await printTable(pool);
    return;
  }
  const partitions = await listPartitions(pool);
  const rows = partitions.reduce((sum, { estimatedRows }) => sum + estimatedRows, 0);
  console.log(`rows: about ${rows} in ${partitions.length} partitions`);
  for (const { name, from, to, estimatedRows, bytes } of partitions) {
    const days = to === null ? 'all other days' : `${from ?? 'all'} to ${to}`;
    console.log(`  ${name}  ${days}  about ${estimatedRows} rows  ${bytes} bytes`);
  }
}

async function printTable(pool: Pool): Promise<void> {
  const row = await firstRow<{ rows: number; bytes: string }>(pool, {
    text: `
      select greatest(reltuples, 0)::float8 as "rows", pg_total_relation_size(oid)::text as "bytes"
      from pg_class where oid = 'processed_events'::regclass`,
  });
  console.log(`rows: about ${row?.rows ?? 0}, ${row?.bytes ?? '0'} bytes`);
  if (await isConversionUnfinished(pool)) {
    console.log(
      'a conversion is running, or was killed: then run "tekil dedup partition" again, or with --abandon',
    );
  }
}
