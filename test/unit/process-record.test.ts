import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  rememberedProcess,
  rememberProcess,
  stillRuns,
  stopLeftover,
  type ProcessRecord,
} from '../../src/dev/process-record';

const STOP_TIMEOUT_MS = 2_000;

let folder: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tekil-record-'));
});
afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** A process and its record; `ignoring` is a signal that it takes no notice of. */
async function setup(ignoring?: NodeJS.Signals): Promise<{ readonly file: string; readonly pid: number }> {
  const ignore = ignoring === undefined ? '' : `process.on('${ignoring}', () => {});`;
  const program = `${ignore} setInterval(() => {}, 1000); console.log('up')`;
  const started = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
  child = started;
  await new Promise((resolve) => started.stdout.once('data', resolve));
  const file = join(folder, 'pids', 'child.json');
  const pid = started.pid!;
  rememberProcess(file, pid);
  return { file, pid };
}

describe('the record of a process', () => {
  test('finds the process as long as it runs', async () => {
    const { file, pid } = await setup();
    expect(rememberedProcess(file)?.pid).toBe(pid);
    child?.kill('SIGKILL');
    await new Promise((resolve) => child?.once('exit', resolve));
    expect(rememberedProcess(file)).toBeUndefined();
  });

  test('stops what an earlier start left running', async () => {
    const { file } = await setup();
    const record = rememberedProcess(file)!;
    await stopLeftover(file, 'SIGINT', STOP_TIMEOUT_MS);
    expect(stillRuns(record)).toBe(false);
    expect(rememberedProcess(file)).toBeUndefined();
  });

  test('ends for good what takes no notice', async () => {
    const { file } = await setup('SIGINT');
    const record = rememberedProcess(file)!;
    await stopLeftover(file, 'SIGINT', 200);
    expect(stillRuns(record)).toBe(false);
  });

  test('leaves another process alone that has got the same pid since', async () => {
    const { file, pid } = await setup();
    const record = JSON.parse(readFileSync(file, 'utf8')) as ProcessRecord;
    writeFileSync(file, JSON.stringify({ pid, startedAt: `${record.startedAt}0` }));
    expect(rememberedProcess(file)).toBeUndefined();
    await stopLeftover(file, 'SIGKILL', STOP_TIMEOUT_MS);
    expect(stillRuns(record)).toBe(true);
  });

  test.each(['', '{"pid":', '[]', '{"pid":0}'])('takes %j for no record', (text) => {
    const file = join(folder, 'cut-off.json');
    writeFileSync(file, text);
    expect(rememberedProcess(file)).toBeUndefined();
  });
});
