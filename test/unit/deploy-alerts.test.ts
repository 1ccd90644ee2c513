import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config';
import { SERVICE_NAMES } from '../../src/dev/running-system';
import { packageRoot } from '../../src/package-root';
import { alertRules, PROMETHEUS_FOLDER, readYaml } from '../support/deployed-rules';

/** A day and a half of a minute's steps, for all rules: seconds on an idle machine. */
const PROMTOOL_TIMEOUT_MS = 180_000;

const promtool = spawnSync('promtool', ['--version']).status === 0;
if (!promtool) {
  process.stderr.write(
    'The checks by promtool are SKIPPED: it is not installed (Debian has it in the package prometheus)\n',
  );
}
const testWithPromtool = promtool ? test : test.skip;

const rules = alertRules();

interface RuleTest {
  readonly name: string;
  readonly promql_expr_test: readonly { readonly expr: string; readonly exp_samples: readonly unknown[] }[];
}

const ruleTests = (readYaml('alerts.test.yml') as { tests: readonly RuleTest[] }).tests;

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(file: string): readonly string[] {
  const page = readFileSync(join(packageRoot(), file), 'utf8');
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('an alert', () => {
  test('has a name of its own', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  test.each(rules)(
    '$alert says how urgent it is, what is wrong and what to do',
    ({ labels, annotations }) => {
      expect(Object.keys(labels)).toEqual(['severity']);
      expect(['page', 'ticket']).toContain(labels['severity']);
      expect(Object.keys(annotations)).toEqual(['summary', 'action', 'runbook']);
      expect(annotations['summary']).not.toMatch(/\.$/);
      expect(annotations['action']).toMatch(/^[A-Z][^.]+\.$/);
    },
  );

  test.each(rules)('$alert leads to a section of a page that exists', ({ annotations }) => {
    const [file = '', anchor = ''] = annotations['runbook']!.split('#');
    expect(existsSync(join(packageRoot(), file))).toBe(true);
    expect(anchorsOf(file)).toContain(anchor);
  });

  test.each(rules)('$alert has a case in which it fires and one in which it does not', ({ alert }) => {
    const own = ruleTests.filter(({ name }) => name.startsWith(`${alert} `));
    const fires = own.filter(({ name }) => name.startsWith(`${alert} fires `));
    const quiet = own.filter(({ name }) => name.startsWith(`${alert} is quiet `));
    expect([fires.length > 0, quiet.length > 0]).toEqual([true, true]);
    for (const { name, promql_expr_test: checks } of own) {
      expect(checks.map(({ expr }) => expr)).toEqual([`ALERTS{alertname="${alert}", alertstate="firing"}`]);
      expect([name, checks[0]!.exp_samples.length > 0]).toEqual([name, name.includes(' fires ')]);
    }
  });

  test('is what each case is about', () => {
    const known = new Set(rules.map(({ alert }) => alert));
    expect(ruleTests.map(({ name }) => name).filter((name) => !known.has(name.split(' ')[0]!))).toEqual([]);
  });

  test.each(rules)('$alert is in the list of the runbook', ({ alert, labels, annotations }) => {
    const page = readFileSync(join(packageRoot(), 'docs', 'operations.md'), 'utf8');
    const anchor = annotations['runbook']!.split('#')[1]!;
    const row = new RegExp(`^\\| \`${alert}\` +\\| ${labels['severity']!} +\\|.*\\(#${anchor}\\) +\\|$`, 'm');
    expect(page).toMatch(row);
  });
});

describe('prometheus.yml', () => {
  const config = readYaml('prometheus.yml') as {
    readonly rule_files: readonly string[];
    readonly scrape_configs: readonly {
      readonly job_name: string;
      readonly static_configs: readonly { readonly targets: readonly string[] }[];
    }[];
  };
  const targets = Object.fromEntries(
    config.scrape_configs.map(({ job_name, static_configs }) => [
      job_name,
      static_configs.flatMap((each) => each.targets),
    ]),
  );
  const compose = parse(readFileSync(join(packageRoot(), 'docker-compose.yml'), 'utf8'), { merge: true }) as {
    services: Record<string, { environment: Record<string, string> }>;
  };
  const configOf = (name: string) => loadConfig(compose.services[name]!.environment);

  test('reads the rules beside it', () => {
    expect(config.rule_files).toEqual(['alerts.yml']);
  });

  test.each(SERVICE_NAMES)('scrapes %s where it serves its metrics', (name) => {
    expect(targets[name]).toEqual([`${name}:${configOf(name).ADMIN_PORT}`]);
  });

  test("scrapes Temporal's own metrics of each process that serves them, and nothing else", () => {
    const serving = SERVICE_NAMES.filter((name) => configOf(name).TEMPORAL_METRICS_PORT !== undefined);
    expect(serving.toSorted()).toEqual(['order-api', 'order-worker']);
    expect(targets['temporal-sdk']?.toSorted()).toEqual(
      serving.map((name) => `${name}:${configOf(name).TEMPORAL_METRICS_PORT!}`).toSorted(),
    );
    expect(Object.keys(targets).toSorted()).toEqual([...SERVICE_NAMES, 'temporal-sdk'].toSorted());
  });
});

describe('promtool', () => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      cwd: PROMETHEUS_FOLDER,
      encoding: 'utf8',
      timeout: PROMTOOL_TIMEOUT_MS,
    });
    return { status, output: `${stdout}${stderr}` };
  };

  testWithPromtool.each([
    ['finds the configuration and the rules well-formed', ['check', 'config', 'prometheus.yml']],
    ['sees every rule fire and stay quiet when it should', ['test', 'rules', 'alerts.test.yml']],
  ])(
    '%s',
    (_, args) => {
      expect(run(...args)).toMatchObject({ status: 0 });
    },
    PROMTOOL_TIMEOUT_MS,
  );
});
