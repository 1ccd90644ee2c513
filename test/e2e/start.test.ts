import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stillRuns, type ProcessRecord } from '../../src/dev/process-record';
import { readRunningSystem, SERVICE_NAMES } from '../../src/dev/running-system';
import { packageRoot } from '../../src/package-root';
import { waitFor } from '../support/wait-for';

const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 10_000;
const CURL_TIMEOUT_MS = 15_000;
/** PostgreSQL, Temporal, Kafka. */
const SERVERS = 3;

interface Start {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  /** The three lines to try, as they were printed. */
  readonly curls: readonly string[];
}

let dataDir: string;
const children: ChildProcess[] = [];

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tekil-start-'));
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(programs().map(({ pid }) => promisify(execFile)('kill', ['-9', String(pid)])));
  rmSync(dataDir, { recursive: true, force: true });
});

/** `npm start` with servers of its own, beside those of this test run: as two checkouts on one machine. */
async function start(): Promise<Start> {
  const { DATABASE_URL, TEMPORAL_ADDRESS, KAFKA_BROKERS, ...environment } = process.env;
  const child = spawn(process.execPath, [join(packageRoot(), 'scripts', 'start.mjs')], {
    env: { ...environment, TEKIL_DATA: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let output = '';
  const keep = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const isInviting = (): boolean => output.includes('Ctrl-C stops everything');
  await waitFor('the invitation', () => isInviting() || child.exitCode !== null, START_TIMEOUT_MS);
  if (!isInviting()) throw new Error(output);
  return { child, ended, curls: output.split('\n').filter((line) => line.startsWith('curl ')) };
}

/** Runs a printed line as a person would, in a shell. */
async function paste(line: string | undefined): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-c', line ?? 'false'], { timeout: CURL_TIMEOUT_MS });
  return stdout;
}

/** Every program that `npm start` remembers and that runs. */
function programs(): ProcessRecord[] {
  const folder = join(dataDir, 'pids');
  return readdirSync(folder)
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as ProcessRecord)
    .filter(stillRuns);
}

function bodyOf(answer: string): string | undefined {
  return answer.split('\r\n\r\n').at(-1);
}

async function position(curl: string | undefined): Promise<unknown> {
  const { positions } = JSON.parse(await paste(curl)) as { positions: readonly { quantity: string }[] };
  return positions[0]?.quantity;
}

test('npm start invites with lines that work, mends itself, comes back after kill -9, and stops in order', async () => {
  const first = await start();
  const refused = expect(start()).rejects.toThrow(`already runs here (process ${first.child.pid})`);

  const [submit, again, positions] = first.curls;
  const answer = await paste(submit);
  expect(answer).toMatch(/^HTTP\/1\.1 201 /);
  expect(answer).not.toMatch(/^Idempotency-Replayed/im);
  const repeat = await paste(again);
  expect(repeat).toMatch(/^HTTP\/1\.1 201 /);
  expect(repeat).toMatch(/^Idempotency-Replayed: true\r$/m);
  expect(bodyOf(repeat)).toBe(bodyOf(answer));
  await waitFor('the position', async () => (await position(positions)) === '10');

  const before = readRunningSystem(dataDir)!;
  expect(before.pid).toBe(first.child.pid);
  const worker = before.services['order-worker'].pid;
  process.kill(worker, 'SIGKILL');
  await waitFor(
    'the worker to be back',
    () => readRunningSystem(dataDir)?.services['order-worker'].pid !== worker,
    START_TIMEOUT_MS,
  );

  await refused;
  first.child.kill('SIGKILL');
  await first.ended;
  const orphans = programs();
  expect(orphans).toHaveLength(SERVICE_NAMES.length + SERVERS);

  const second = await start();
  expect(orphans.filter(stillRuns)).toEqual([]);
  expect(readRunningSystem(dataDir)?.apiUrl).toBe(before.apiUrl);
  expect(second.curls[2]).toBe(positions);
  expect(await position(positions)).toBe('10');

  const { stdout: story } = await promisify(execFile)(
    process.execPath,
    [join(packageRoot(), 'dist', 'src', 'dev', 'demo.js'), dataDir],
    { timeout: START_TIMEOUT_MS },
  );
  expect(story).toContain('and the first answer is still the answer');

  const running = programs();
  const stoppedAt = performance.now();
  second.child.kill('SIGINT');
  expect(await second.ended).toBe(0);
  expect(performance.now() - stoppedAt).toBeLessThan(STOP_TIMEOUT_MS);
  expect(running.filter(stillRuns)).toEqual([]);
  expect(readRunningSystem(dataDir)).toBeUndefined();
}, 300_000);
