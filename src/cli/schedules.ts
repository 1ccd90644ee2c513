import type { Command } from 'commander';
import { loadConfig, type Config } from '../config';
import { createLogger, type Logger } from '../observability/logger';
import { connectClient } from '../temporal/connection';
import {
  applySchedules,
  maintenanceTaskQueue,
  showSchedules,
  type AppliedSchedule,
  type ScheduleOptions,
  type ShownSchedule,
} from '../temporal/schedules';
import { printable } from './set-aside-line';

/** Creates or updates the schedules of this installation. Safe to run again, and by several at once. */
export async function ensureSchedules(config: Config, logger: Logger): Promise<AppliedSchedule[]> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config;
  const temporal = await connectClient({ address, namespace }, logger);
  try {
    return await applySchedules(temporal.client, optionsOf(config));
  } finally {
    await temporal.close();
  }
}

/** `tekil schedules apply|show`: what Temporal starts by the clock. */
export function registerSchedules(program: Command): void {
  const group = program
    .command('schedules')
    .description('the cleanup of dedup rows, and the nightly check of positions');
  group
    .command('apply')
    .description('create or update the schedules; what an operator paused stays paused, with its note')
    .action(async () => {
      const config = loadConfig();
      for (const each of await ensureSchedules(config, createLogger('schedules', 'warn'))) {
        console.log(printable(appliedLine(each)));
      }
    });
  group
    .command('show')
    .description('show the schedules: paused or not, when next, and how the latest run ended')
    .action(async () => {
      const config = loadConfig();
      const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config;
      const temporal = await connectClient({ address, namespace }, createLogger('schedules', 'warn'));
      try {
        for (const each of await showSchedules(temporal.client, optionsOf(config))) {
          console.log(printable(shownLine(each)));
        }
      } finally {
        await temporal.close();
      }
    });
}

function optionsOf(config: Config): ScheduleOptions {
  return {
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: maintenanceTaskQueue(config.TEMPORAL_TASK_QUEUE),
    prefix: config.TEMPORAL_SCHEDULE_PREFIX,
  };
}

function appliedLine({ id, outcome, paused, note }: AppliedSchedule): string {
  return `${id}: ${outcome}${paused ? `; paused by an operator, and stays so (${note})` : ''}`;
}

function shownLine({ id, exists, paused, note, next, lastWorkflowId, lastStatus }: ShownSchedule): string {
  if (!exists) return `${id}: is not there; run tekil schedules apply`;
  const when = paused === true ? `paused (${note ?? ''})` : `next at ${next ?? 'an unknown time'}`;
  const last =
    lastWorkflowId === undefined ? 'no run yet' : `latest run ${lastWorkflowId}: ${lastStatus ?? ''}`;
  return `${id}: ${when}; ${last}`;
}
