import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  WorkflowNotFoundError,
  type Client,
  type ScheduleDescription,
  type WorkflowService,
} from '@temporalio/client';
import { encodeScheduleOverlapPolicy } from '@temporalio/client/lib/schedule-types';
import { msToTs } from '@temporalio/common/lib/time';
import type { dedupCleanupWorkflow, positionsVerifyWorkflow } from '../../workflows';

/** When a scheduled workflow starts. Overlap is always *skip*: a run that is not over is never joined by another. */
interface Plan {
  readonly id: string;
  readonly workflowType: string;
  readonly everyMs: number;
  /** After the beginning of each interval; intervals are counted from midnight UTC. */
  readonly offsetMs: number;
  /** So that installations which share servers do not start in the same second. */
  readonly jitterMs: number;
  /** A start that was missed because Temporal was down is made up for, if it is not longer ago than this. */
  readonly catchUpMs: number;
}

/** The queue of the scheduled workflows: beside that of the orders, and polled by order-worker alone. */
export function maintenanceTaskQueue(ordersTaskQueue: string): string {
  return `${ordersTaskQueue}-maintenance`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const workflowType = (name: WorkflowName): string => name;
type WorkflowName = keyof {
  dedupCleanupWorkflow: typeof dedupCleanupWorkflow;
  positionsVerifyWorkflow: typeof positionsVerifyWorkflow;
};

const PLANS: readonly Plan[] = [
  {
    id: 'dedup-cleanup',
    workflowType: workflowType('dedupCleanupWorkflow'),
    everyMs: 15 * MINUTE_MS,
    offsetMs: 0,
    jitterMs: 30_000,
    catchUpMs: 10 * MINUTE_MS,
  },
  {
    id: 'positions-verify',
    workflowType: workflowType('positionsVerifyWorkflow'),
    everyMs: 24 * HOUR_MS,
    offsetMs: 2.5 * HOUR_MS,
    jitterMs: 5 * MINUTE_MS,
    catchUpMs: 12 * HOUR_MS,
  },
];

export interface ScheduleOptions {
  readonly namespace: string;
  readonly taskQueue: string;
  /** Stands before each id. */
  readonly prefix: string;
  /** Called between the look at a schedule and its change; a test puts an operator there. */
  readonly beforeChange?: (id: string) => Promise<void>;
}

export interface AppliedSchedule {
  readonly id: string;
  readonly outcome: 'created' | 'updated' | 'unchanged';
  /** As an operator left it. */
  readonly paused: boolean;
  readonly note: string;
}

const RPC_TIMEOUT_MS = 10_000;
/** Each attempt but the first follows somebody else's change, which is looked at again. */
const MAX_ATTEMPTS = 10;
const RETRY_INTERVAL_MS = 200;

/** gRPC status codes. */
const ALREADY_EXISTS = 6;
const FAILED_PRECONDITION = 9;
const ABORTED = 10;

/**
 * Brings the schedules to what this version wants. Running it again changes nothing, several may run at once, and what
 * an operator said stays: paused is still paused, with its note. A change that somebody makes at the same moment is
 * never overwritten, because the server takes ours only on top of what we have seen.
 */
export async function applySchedules(client: Client, options: ScheduleOptions): Promise<AppliedSchedule[]> {
  const applied: AppliedSchedule[] = [];
  for (const plan of PLANS) applied.push(await applySchedule(client, options, plan));
  return applied;
}

async function applySchedule(client: Client, options: ScheduleOptions, plan: Plan): Promise<AppliedSchedule> {
  const id = options.prefix + plan.id;
  let outcome: AppliedSchedule['outcome'] = 'unchanged';
  if (await create(client, options, id, plan)) outcome = 'created';
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const found = await describe(client, id);
    if (isDeepStrictEqual(shapeOf(found), wantedShape(id, plan, options))) {
      return { id, outcome, paused: found.state.paused, note: found.state.note ?? '' };
    }
    await options.beforeChange?.(id);
    await update(client, options, { id, plan, found });
    outcome = 'updated';
    if (attempt > 1) await new Promise((resolve) => setTimeout(resolve, RETRY_INTERVAL_MS));
  }
  throw new Error(`the schedule ${id} was changed by others ${MAX_ATTEMPTS} times in a row`);
}

/** What two schedules must have in common to start the same thing at the same times. */
interface Shape {
  readonly intervals: readonly (readonly [everyMs: number, offsetMs: number])[];
  readonly otherTimes: number;
  readonly jitterMs: number;
  readonly catchUpMs: number;
  readonly overlap: string | undefined;
  readonly pauseOnFailure: boolean;
  readonly starts: readonly (string | undefined)[];
}

function wantedShape(id: string, plan: Plan, { taskQueue }: ScheduleOptions): Shape {
  return {
    intervals: [[plan.everyMs, plan.offsetMs]],
    otherTimes: 0,
    jitterMs: plan.jitterMs,
    catchUpMs: plan.catchUpMs,
    overlap: ScheduleOverlapPolicy.SKIP,
    pauseOnFailure: false,
    starts: [id, plan.workflowType, taskQueue],
  };
}

function shapeOf({ spec, action, policies }: ScheduleDescription): Shape {
  const { calendars = [], intervals = [], skip = [], jitter = 0 } = spec;
  return {
    intervals: intervals.map(({ every, offset }) => [every, offset]),
    otherTimes: calendars.length + skip.length,
    jitterMs: jitter,
    catchUpMs: policies.catchupWindow,
    overlap: policies.overlap,
    pauseOnFailure: policies.pauseOnFailure,
    starts: [action.workflowId, action.workflowType, action.taskQueue],
  };
}

type RawSchedule = NonNullable<Parameters<WorkflowService['createSchedule']>[0]['schedule']>;

function rawSchedule(id: string, plan: Plan, { taskQueue }: ScheduleOptions): RawSchedule {
  return {
    spec: {
      interval: [{ interval: msToTs(plan.everyMs), phase: msToTs(plan.offsetMs) }],
      jitter: msToTs(plan.jitterMs),
    },
    action: {
      startWorkflow: {
        workflowId: id,
        workflowType: { name: plan.workflowType },
        taskQueue: { name: taskQueue },
      },
    },
    policies: {
      overlapPolicy: encodeScheduleOverlapPolicy(ScheduleOverlapPolicy.SKIP) ?? null,
      catchupWindow: msToTs(plan.catchUpMs),
      pauseOnFailure: false,
    },
  };
}

/** False when it is there already. */
async function create(client: Client, options: ScheduleOptions, id: string, plan: Plan): Promise<boolean> {
  const request = {
    namespace: options.namespace,
    scheduleId: id,
    schedule: rawSchedule(id, plan, options),
    requestId: randomUUID(),
  };
  try {
    await withinDeadline(client, () => client.workflowService.createSchedule(request));
    return true;
  } catch (error) {
    if (hasCode(error, ALREADY_EXISTS)) return false;
    throw error;
  }
}

function describe(client: Client, id: string): Promise<ScheduleDescription> {
  return withinDeadline(client, () => client.schedule.getHandle(id).describe());
}

interface Change {
  readonly id: string;
  readonly plan: Plan;
  readonly found: ScheduleDescription;
}

/**
 * Not by the client's own `update`, which sends no token and so overwrites what it has not seen. When the token is old
 * the server refuses the request, or takes it and drops it; the next look shows whether it counted.
 */
async function update(client: Client, options: ScheduleOptions, { id, plan, found }: Change): Promise<void> {
  const { schedule, conflictToken } = found.raw;
  const request = {
    namespace: options.namespace,
    scheduleId: id,
    schedule: { ...rawSchedule(id, plan, options), state: schedule?.state ?? null },
    conflictToken: conflictToken ?? null,
    requestId: randomUUID(),
  };
  try {
    await withinDeadline(client, () => client.workflowService.updateSchedule(request));
  } catch (error) {
    if (!hasCode(error, FAILED_PRECONDITION) && !hasCode(error, ABORTED)) throw error;
  }
}

function withinDeadline<T>(client: Client, call: () => Promise<T>): Promise<T> {
  return client.withDeadline(Date.now() + RPC_TIMEOUT_MS, call);
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** A schedule as an operator wants to see it. */
export interface ShownSchedule {
  readonly id: string;
  /** Absent schedules have nothing else. */
  readonly exists: boolean;
  readonly paused?: boolean;
  readonly note?: string;
  /** RFC 3339. */
  readonly next?: string;
  /** The latest run. */
  readonly lastWorkflowId?: string;
  readonly lastStatus?: string;
}

/** Every schedule of this version, with its latest run. */
export async function showSchedules(
  client: Client,
  { prefix }: Pick<ScheduleOptions, 'prefix'>,
): Promise<ShownSchedule[]> {
  const shown: ShownSchedule[] = [];
  for (const plan of PLANS) shown.push(await showSchedule(client, prefix + plan.id));
  return shown;
}

async function showSchedule(client: Client, id: string): Promise<ShownSchedule> {
  const found = await describe(client, id).catch((error: unknown) => {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  });
  if (found === undefined) return { id, exists: false };
  const { state, info } = found;
  const next = info.nextActionTimes[0];
  const last = info.recentActions.at(-1)?.action.workflow.workflowId;
  return {
    id,
    exists: true,
    paused: state.paused,
    note: state.note ?? '',
    ...(next === undefined ? {} : { next: next.toISOString() }),
    ...(last === undefined ? {} : { lastWorkflowId: last, lastStatus: await statusOf(client, last) }),
  };
}

/** A run may be past the namespace's retention. */
async function statusOf(client: Client, workflowId: string): Promise<string> {
  try {
    const { status } = await withinDeadline(client, () => client.workflow.getHandle(workflowId).describe());
    return status.name;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'FORGOTTEN';
    throw error;
  }
}
