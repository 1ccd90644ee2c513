import { readFileSync } from 'node:fs';
import { sep } from 'node:path';

/**
 * Counts the tests of a report by Jest. A project without tests, or a file that could not run, is a failure.
 * @param {string} file what Jest wrote for `--json --outputFile`
 * @param {readonly string[]} projects those that must have tests
 */
export function readReport(file, projects) {
  let result;
  try {
    result = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { counts: { passed: 0, failed: 1, skipped: 0 }, faults: ['Jest wrote no report'], skipped: [] };
  }
  const files = result.testResults.map(({ name }) => name);
  const folderOf = (project) => `${sep}test${sep}${project}${sep}`;
  const empty = projects.filter((project) => !files.some((name) => name.includes(folderOf(project))));
  return {
    counts: {
      passed: result.numPassedTests,
      failed: result.numFailedTests + result.numRuntimeErrorTestSuites + empty.length,
      skipped: result.numPendingTests + result.numTodoTests,
    },
    faults: empty.map((project) => `there are no tests in test/${project}`),
    skipped: namesOf(result, ['pending', 'todo']),
  };
}

function namesOf({ testResults }, statuses) {
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => statuses.includes(status))
    .map(({ fullName }) => fullName);
}
