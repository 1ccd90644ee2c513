import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { readReport } from './lib/jest-report.mjs';
import { execute, wasInterrupted } from './lib/run.mjs';
import { main, setUp } from './lib/set-up.mjs';
import { withTestServers } from './lib/test-servers.mjs';

/** All of it; a part gets what is left of it when that is less than its own bound. */
const TOTAL_TIMEOUT_MS = 19 * 60_000;
const CHECK_TIMEOUT_MS = 5 * 60_000;
const TEST_TIMEOUT_MS = 5 * 60_000;
const SERVER_TEST_TIMEOUT_MS = 10 * 60_000;
const PARALLEL_CHECKS = 2;

/** The longest first, so that the others fit beside it. */
const CHECKS = ['build', 'lint', 'typecheck', 'format:check', 'arch', 'dead'];
/** Each with the Jest projects that it must have found tests for. */
const TESTS = { 'test:unit': ['unit'], 'test:property': ['property'], 'test:replay': ['replay'] };
const SERVER_TESTS = { 'test:integration': ['integration', 'workflow'], 'test:e2e': ['e2e', 'fault'] };

const startedAt = performance.now();
const total = { passed: 0, failed: 0, skipped: 0 };
const reports = mkdtempSync(join(tmpdir(), 'tekil-reports-'));

await main(async () => {
  try {
    await setUp();
    await runEverything();
  } catch (error) {
    count({ passed: 0, failed: 1, skipped: 0 });
    console.log(`✗ ${error.message}`);
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total.failed === 0 ? 0 : 1;
});

async function runEverything() {
  const built = await runChecks();
  if (!built) throw new Error('the tests were not run: there is no build');
  for (const [script, projects] of Object.entries(TESTS)) await runTests(script, projects, TEST_TIMEOUT_MS);
  await withTestServers(async (addresses) => {
    const env = { ...process.env, ...addresses };
    for (const [script, projects] of Object.entries(SERVER_TESTS)) {
      await runTests(script, projects, SERVER_TEST_TIMEOUT_MS, env);
    }
  });
}

/** The checks that read the sources only. @returns {Promise<boolean>} is there a build to test? */
async function runChecks() {
  const waiting = [...CHECKS];
  const failed = new Set();
  const worker = async () => {
    for (let script = waiting.shift(); script !== undefined; script = waiting.shift()) {
      const outcome = await runPart(script, [], CHECK_TIMEOUT_MS);
      const ok = outcome.code === 0;
      if (!ok) failed.add(script);
      count({ passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 });
      report(script, ok, '', outcome);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_CHECKS }, worker));
  return !failed.has('build');
}

async function runTests(script, projects, timeoutMs, env = process.env) {
  const file = join(reports, `${script.replace(':', '-')}.json`);
  const outcome = await runPart(script, ['--', '--ci', '--json', `--outputFile=${file}`], timeoutMs, env);
  const { counts, faults, skipped } = readReport(file, projects);
  // A run may fail without a failing test: it could not start, it did not end, it took too long.
  if (outcome.code !== 0 && counts.failed === 0) counts.failed = 1;
  count(counts);
  const summary = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped, `;
  report(script, counts.failed === 0, summary, {
    ...outcome,
    output: [outcome.output, ...faults].join('\n'),
  });
  // A test that was not run is named: nothing is left out in silence.
  for (const name of skipped) console.log(`    skipped: ${name}`);
}

async function runPart(script, args, partTimeoutMs, env = process.env) {
  const leftMs = TOTAL_TIMEOUT_MS - (performance.now() - startedAt);
  if (wasInterrupted()) throw new Error('interrupted');
  const timeoutMs = Math.max(1_000, Math.min(partTimeoutMs, leftMs));
  const began = performance.now();
  const outcome = await execute('npm', ['run', '--silent', script, ...args], { timeoutMs, env });
  return { ...outcome, seconds: ((performance.now() - began) / 1000).toFixed(1) };
}

function count({ passed, failed, skipped }) {
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
}

/** One line for a part that passed; all that it said for one that did not. */
function report(script, ok, counts, { output, trouble, seconds }) {
  if (!ok) {
    console.log(`\n${output.trim()}`);
    if (trouble !== undefined) console.log(`${script} ${trouble}`);
  }
  console.log(`${ok ? '✓' : '✗'} ${script} (${counts}${seconds} s)`);
}
