import { createMetrics } from '../../src/observability/metrics';
import { alertRules, grafanaBoard } from '../support/deployed-rules';
import { readByExpression } from '../support/promql';

/** What Prometheus puts on every series itself. */
const TARGET_LABELS = ['job', 'instance'];

/** Metrics that src/observability/metrics.ts does not declare, each with its labels and the reason to trust that it exists. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  // Prometheus writes it for each target of each scrape.
  up: [],
  // The Temporal SDK's, served on TEMPORAL_METRICS_PORT; test/workflow/worker-metrics.test.ts reads it from a real worker.
  temporal_workflow_task_execution_failed_total: ['workflow_type', 'failure_reason'],
};

/** A declared metric, process metrics included: its type and the labels that its series carry. */
interface Declared {
  readonly type: string;
  readonly labels: readonly string[];
}

/** Every name under which a series of ours is stored: a histogram has three. */
function seriesNames(): ReadonlyMap<string, Declared> {
  const { registry } = createMetrics({ processMetrics: true });
  const names = new Map<string, Declared>();
  for (const { name, type } of registry.getMetricsAsArray()) {
    const { labelNames } = registry.getSingleMetric(name) as unknown as { labelNames: readonly string[] };
    const kind = String(type);
    if (kind === 'histogram') {
      names.set(`${name}_bucket`, { type: kind, labels: [...labelNames, 'le'] });
      names.set(`${name}_sum`, { type: kind, labels: labelNames });
      names.set(`${name}_count`, { type: kind, labels: labelNames });
    } else {
      names.set(name, { type: kind, labels: labelNames });
    }
  }
  registry.clear();
  return names;
}

const declared = seriesNames();

function labelsOf(metric: string): readonly string[] | undefined {
  return declared.get(metric)?.labels ?? FOREIGN[metric];
}

/** What is wrong with the names in an expression, in words; nothing when all of them exist. */
function faultsOf(expression: string): string[] {
  const { selectors, groupings } = readByExpression(expression);
  const known = selectors.flatMap(({ metric }) => labelsOf(metric) ?? []);
  return [
    ...selectors
      .filter(({ metric }) => labelsOf(metric) === undefined)
      .map(({ metric }) => `no metric ${metric}`),
    ...selectors.flatMap(({ metric, labels }) =>
      labels
        .filter((label) => ![...(labelsOf(metric) ?? []), ...TARGET_LABELS].includes(label))
        .map((label) => `${metric} has no label ${label}`),
    ),
    ...groupings
      .filter((label) => ![...known, ...TARGET_LABELS].includes(label))
      .map((label) => `nothing there has a label ${label}`),
  ];
}

/** `rate` of a gauge, or a counter without it, are mistakes that draw a line all the same. */
function misusedCounters(expression: string): string[] {
  const overTime = /\b(?:rate|increase|irate)\(\s*([\w:]+)/g;
  return [...expression.matchAll(overTime)]
    .map(([, metric = '']) => metric)
    .filter((metric) => declared.get(metric)?.type === 'gauge');
}

const alerts = alertRules().map(({ alert, expr }) => ({ name: `alert ${alert}`, expr }));
const panels = grafanaBoard().panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ name: `panel ${title}`, expr })),
);

describe('the rules and the board', () => {
  test('are not empty', () => {
    expect(alerts.length).toBeGreaterThan(15);
    expect(panels.length).toBeGreaterThan(20);
  });

  test.each([...alerts, ...panels])('$name reads only metrics and labels that exist', ({ expr }) => {
    expect(faultsOf(expr)).toEqual([]);
    expect(misusedCounters(expr)).toEqual([]);
  });

  test('use every foreign metric that is allowed', () => {
    const read = new Set(
      [...alerts, ...panels].flatMap(({ expr }) =>
        readByExpression(expr).selectors.map(({ metric }) => metric),
      ),
    );
    expect(Object.keys(FOREIGN).filter((metric) => !read.has(metric))).toEqual([]);
  });
});

describe('the check of names', () => {
  test.each([
    ['tekil_orders_answerd_total', 'no metric tekil_orders_answerd_total'],
    ['tekil_orders_answered_total{reason="x"}', 'tekil_orders_answered_total has no label reason'],
    ['sum by (source) (tekil_orders_answered_total)', 'nothing there has a label source'],
    ['tekil_order_answer_seconds', 'no metric tekil_order_answer_seconds'],
  ])('finds what is wrong in %s', (expression, fault) => {
    expect(faultsOf(expression)).toEqual([fault]);
  });
});
