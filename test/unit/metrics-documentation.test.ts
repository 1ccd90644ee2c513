import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createMetrics } from '../../src/observability/metrics';
import { packageRoot } from '../../src/package-root';

describe('docs/metrics.md', () => {
  const page = readFileSync(join(packageRoot(), 'docs', 'metrics.md'), 'utf8');
  const documented = new Map(
    [...page.matchAll(/^\| `(tekil_\w+)`\s*\|([^|]*)\|/gm)].map(([, name = '', labels = '']) => [
      name,
      [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
    ]),
  );

  test('names every metric with its labels, and no other', () => {
    const { registry, beforeQuotesAreRead, ...metrics } = createMetrics();
    const declared = Object.values(metrics).map((metric: unknown) => {
      const { name, labelNames } = metric as {
        readonly name: string;
        readonly labelNames: readonly string[];
      };
      return [name, labelNames] as const;
    });
    expect(declared).toHaveLength(registry.getMetricsAsArray().length);
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(declared));
  });
});
