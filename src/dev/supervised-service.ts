import { join } from 'node:path';
import { packageRoot } from '../package-root';
import { ManagedProcess } from './managed-process';
import { filesOf } from './server-files';

export interface ServiceOptions {
  readonly name: string;
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where its health is asked. */
  readonly adminUrl: string;
  /** Called with one or more lines for the terminal. */
  readonly say: (text: string) => void;
  /** Called when the process was started again and is ready. */
  readonly onRestarted: () => void;
  /** Called when it ended too often. */
  readonly onGivenUp: () => void;
}

const READY_TIMEOUT_MS = 60_000;
const PROBE_TIMEOUT_MS = 3_000;
const STOP_TIMEOUT_MS = 2_500;
/** A service that keeps ending has a fault that starting it again does not mend. */
const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 60_000;

/**
 * Flags of Node.js that a process is run with, here and in docker-compose.yml. A bridge that reads a topic again throws
 * away most of what it reads; a young generation that holds a few batches is collected less often, for 100 MiB more.
 */
export function nodeFlagsOf(name: string): readonly string[] {
  return name === 'fill-bridge' ? ['--max-semi-space-size=64'] : [];
}

/** One of Tekil's processes, started again when it ends without having been asked to. */
export class SupervisedService {
  readonly #options: ServiceOptions;
  #process: ManagedProcess | undefined;
  #stopping = false;
  #restartedAt: readonly number[] = [];

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Runs the process and waits until it is ready. @throws {StartError} with the end of its log. */
  async start(): Promise<void> {
    await this.#run('new');
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#process?.stop();
  }

  async #run(log: 'new' | 'continued'): Promise<void> {
    const { name, dataDir, env, adminUrl } = this.#options;
    const files = filesOf(dataDir, name);
    const process_ = await ManagedProcess.start({
      name,
      command: process.execPath,
      args: [
        '--enable-source-maps',
        ...nodeFlagsOf(name),
        join(packageRoot(), 'dist', 'src', 'services', `${name}.js`),
      ],
      env,
      logFile: files.log,
      log,
      pidFile: files.pid,
      stopSignal: 'SIGTERM',
      stopTimeoutMs: STOP_TIMEOUT_MS,
    });
    this.#process = process_;
    if (this.#stopping) return process_.stop();
    await process_.waitUntilReady(() => answersReady(adminUrl), READY_TIMEOUT_MS);
    void process_.ended.then((how) => this.#ended(`${how}${process_.logTail()}`));
  }

  async #ended(reason: string): Promise<void> {
    const { name, say, onRestarted, onGivenUp } = this.#options;
    if (this.#stopping) return;
    const since = performance.now() - RESTART_WINDOW_MS;
    this.#restartedAt = [...this.#restartedAt.filter((at) => at > since), performance.now()];
    say(reason);
    if (this.#restartedAt.length > MAX_RESTARTS) {
      say(`${name} ended ${this.#restartedAt.length} times within a minute: it is not started again`);
      onGivenUp();
      return;
    }
    say(`starting ${name} again`);
    try {
      await this.#run('continued');
      say(`${name} is ready again`);
      onRestarted();
    } catch (error) {
      await this.#ended(error instanceof Error ? error.message : String(error));
    }
  }
}

async function answersReady(adminUrl: string): Promise<void> {
  const response = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`/readyz answers ${response.status}: ${await response.text()}`);
}
