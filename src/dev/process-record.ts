import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';

/** A pid of zero or below would name whole groups of processes, the reader's own among them. */
const recordShape = z.object({ pid: z.number().int().positive(), startedAt: z.string().min(1) });

/** A process, and when it began: a pid alone may belong to somebody else by the time it is read again. */
export type ProcessRecord = Readonly<z.output<typeof recordShape>>;

const POLL_INTERVAL_MS = 25;

/** The record of a running process; undefined when there is none with this pid, or only its unreaped remains. */
export function recordOf(pid: number): ProcessRecord | undefined {
  const startedAt = process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

/** Is the process that was recorded still there, rather than another one with its pid? */
export function stillRuns(record: ProcessRecord): boolean {
  return recordOf(record.pid)?.startedAt === record.startedAt;
}

/** Writes down that `pid` runs, so that a later start can find it when this one ends without a goodbye. */
export function rememberProcess(file: string, pid: number): void {
  const record = recordOf(pid);
  if (record === undefined) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(record));
}

export function forgetProcess(file: string): void {
  rmSync(file, { force: true });
}

/** The process of this file, when it still runs. */
export function rememberedProcess(file: string): ProcessRecord | undefined {
  try {
    const record = recordShape.parse(JSON.parse(readFileSync(file, 'utf8')));
    return stillRuns(record) ? record : undefined;
  } catch {
    // No file, or one that was cut off while it was written: nothing that could be stopped by it.
    return undefined;
  }
}

/** Stops what an earlier start left running: politely first, then for good. */
export async function stopLeftover(file: string, signal: NodeJS.Signals, timeoutMs: number): Promise<void> {
  const leftover = rememberedProcess(file);
  if (leftover !== undefined) {
    signalProcess(leftover, signal);
    if (!(await endsWithin(leftover, timeoutMs))) {
      signalProcess(leftover, 'SIGKILL');
      if (!(await endsWithin(leftover, timeoutMs))) {
        throw new Error(`process ${leftover.pid} of an earlier start cannot be stopped: end it by hand`);
      }
    }
  }
  forgetProcess(file);
}

function signalProcess({ pid }: ProcessRecord, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended by itself just now, which is all that was wanted.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** True when the process is gone in time. */
export async function endsWithin(record: ProcessRecord, timeoutMs: number): Promise<boolean> {
  const giveUpAt = performance.now() + timeoutMs;
  while (stillRuns(record)) {
    if (performance.now() > giveUpAt) return false;
    await pause(POLL_INTERVAL_MS);
  }
  return true;
}

/** Fields 3 (state) and 22 (start, in ticks since boot) of /proc/PID/stat; field 2 may hold spaces, in parentheses. */
function startOnLinux(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function startByPs(pid: number): string | undefined {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}
