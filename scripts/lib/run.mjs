import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { ROOT } from './checkout.mjs';

const OUTPUT_TAIL_CHARS = 4_000;
const MAX_OUTPUT_CHARS = 4_000_000;
const KILL_DELAY_MS = 5_000;

/** What `timeout` answers for a command that took too long. */
const TIMED_OUT = 124;
const NOT_FOUND = 127;

/** Each command has a process group of its own, so that what it started ends with it. */
const running = new Set();
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
let interrupted = false;

/** Did a signal ask this script to end? */
export function wasInterrupted() {
  return interrupted;
}

/** From here to the end of `work`, a signal does not end this script: it ends the commands and is remembered. */
export async function outlivingSignals(work) {
  const onSignal = (signal) => {
    interrupted = true;
    for (const child of running) killGroup(child, signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

/**
 * Runs a command to its end.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ timeoutMs: number, visible?: boolean, cwd?: string, env?: Record<string, string | undefined> }} options
 *   `visible`: its output is ours; else it is kept and returned
 * @returns {Promise<{ code: number, output: string, standardOutput: string, trouble?: string }>}
 */
export async function execute(command, args, { timeoutMs, visible = false, cwd = ROOT, env = process.env }) {
  const output = visible ? 'inherit' : 'pipe';
  const path = `${join(ROOT, 'node_modules', '.bin')}${delimiter}${env['PATH'] ?? ''}`;
  const child = spawn(command, args, {
    cwd,
    env: { ...env, PATH: path },
    stdio: ['ignore', output, output],
    detached: true,
  });
  const kept = { output: '', standardOutput: '' };
  const keep = (key) => (chunk) => {
    kept[key] = `${kept[key]}${chunk}`.slice(-MAX_OUTPUT_CHARS);
  };
  child.stdout?.on('data', keep('standardOutput')).on('data', keep('output'));
  child.stderr?.on('data', keep('output'));
  running.add(child);
  const outcome = await outlivingSignals(() => outcomeOf(child, timeoutMs));
  running.delete(child);
  return { ...kept, ...outcome };
}

/** Runs a command quietly. @returns {Promise<string>} its standard output. @throws {Error} when it does not succeed. */
export async function run(command, args, { timeoutMs }) {
  const { code, output, standardOutput, trouble } = await execute(command, args, { timeoutMs });
  if (code === 0) return standardOutput;
  const tail = output.slice(-OUTPUT_TAIL_CHARS).trim();
  throw new Error(`${command} ${args.join(' ')}: ${trouble ?? `exit code ${code}`}\n${tail}`.trim());
}

/** Is there such a command, and does it succeed? */
export async function works(command, args, timeoutMs = 20_000) {
  return (await execute(command, args, { timeoutMs })).code === 0;
}

function outcomeOf(child, timeoutMs) {
  return new Promise((resolve) => {
    let trouble;
    const timer = setTimeout(() => {
      trouble = `took longer than ${timeoutMs / 1000} s`;
      killGroup(child, 'SIGTERM');
      setTimeout(() => killGroup(child, 'SIGKILL'), KILL_DELAY_MS).unref();
    }, timeoutMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      resolve({ code: NOT_FOUND, trouble: error.message });
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (trouble !== undefined) resolve({ code: TIMED_OUT, trouble });
      else if (code === null) resolve({ code: 128, trouble: `ended with ${signal}` });
      else resolve({ code });
    });
  });
}

function killGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended already.
  }
}
