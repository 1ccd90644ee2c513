import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { withDeadline } from '../lifecycle';
import { forgetProcess, rememberProcess, stopLeftover } from './process-record';
import { untilReady } from './readiness';

export interface ProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Takes the output. */
  readonly logFile: string;
  /** A new log keeps the one of the start before beside it. */
  readonly log: 'new' | 'continued';
  /** Remembers the process, so that the next start finds it when this one was killed. */
  readonly pidFile: string;
  readonly stopSignal: NodeJS.Signals;
  readonly stopTimeoutMs: number;
  readonly user?: { readonly uid: number; readonly gid: number };
}

const LOG_TAIL_LINES = 25;

/** Raised when a program ends, or does not become ready in time. Its message holds the end of the program's log. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** A child process with its log and a record of it on disk. */
export class ManagedProcess {
  /** Resolves with a sentence when the process is gone, for whatever reason. */
  readonly ended: Promise<string>;
  readonly #options: ProcessOptions;
  readonly #child: ChildProcess;
  #ending: string | undefined;

  private constructor(options: ProcessOptions, child: ChildProcess) {
    this.#options = options;
    this.#child = child;
    this.ended = new Promise((resolve) => {
      const end = (how: string): void => {
        this.#ending = how;
        forgetProcess(options.pidFile);
        resolve(how);
      };
      child.once('error', (error) => {
        end(`${options.name} could not be run: ${error.message}`);
      });
      child.once('exit', (code, signal) => {
        end(`${options.name} ended with ${signal ?? `code ${String(code)}`}`);
      });
    });
    if (child.pid !== undefined) rememberProcess(options.pidFile, child.pid);
  }

  /** Stops what an earlier start left of this program, then runs it. */
  static async start(options: ProcessOptions): Promise<ManagedProcess> {
    await stopLeftover(options.pidFile, options.stopSignal, options.stopTimeoutMs);
    mkdirSync(dirname(options.logFile), { recursive: true });
    const moveAway = options.log === 'new' && existsSync(options.logFile);
    if (moveAway) renameSync(options.logFile, `${options.logFile}.before`);
    const log = openSync(options.logFile, 'a');
    try {
      const child = spawn(options.command, options.args, {
        env: options.env,
        stdio: ['ignore', log, log],
        // A group of its own: Ctrl-C in the terminal reaches the parent alone, which stops its children in order.
        detached: true,
        ...options.user,
      });
      return new ManagedProcess(options, child);
    } finally {
      closeSync(log);
    }
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Waits until `probe` no longer throws.
   * @throws {StartError} when the process ends first or the time is over; it does not run any more then.
   */
  async waitUntilReady(probe: () => Promise<void>, timeoutMs: number): Promise<void> {
    const stillPossible = (): void => {
      if (this.#ending !== undefined) throw new StartError(`${this.#ending}${this.logTail()}`);
    };
    try {
      await untilReady({ what: this.#options.name, probe, timeoutMs, stillPossible });
    } catch (error) {
      if (error instanceof StartError) throw error;
      await this.kill();
      const message = error instanceof Error ? error.message : String(error);
      throw new StartError(`${message}${this.logTail()}`, { cause: error });
    }
  }

  /** Asks the process to end; ends it for good when it takes too long. */
  async stop(): Promise<void> {
    if (this.#ending !== undefined) return;
    this.#child.kill(this.#options.stopSignal);
    try {
      await withDeadline(this.ended, this.#options.stopTimeoutMs, `stopping ${this.#options.name}`);
    } catch {
      await this.kill();
    }
  }

  /** SIGKILL: what a crash of the program looks like from outside. */
  async kill(): Promise<void> {
    if (this.#ending !== undefined) return;
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** The last lines of the log, ready to stand under a message. */
  logTail(): string {
    const text = readFileSync(this.#options.logFile, 'utf8').trimEnd();
    const lines = text === '' ? ['(nothing)'] : text.split('\n').slice(-LOG_TAIL_LINES);
    return `\n${this.#options.logFile} ends with:\n${lines.map((line) => `    ${line}`).join('\n')}`;
  }
}
