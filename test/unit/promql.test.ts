import { readByExpression } from '../support/promql';

describe('the metrics and labels that an expression reads', () => {
  test.each([
    ['up == 0', [{ metric: 'up', labels: [] }], []],
    [
      'sum by (source) (rate(a_total{type="FILL", source=~"L.*"}[5m]))',
      [{ metric: 'a_total', labels: ['type', 'source'] }],
      ['source'],
    ],
    ['sum(rate(a_total[1d] offset 10m)) by (job)', [{ metric: 'a_total', labels: [] }], ['job']],
    [
      'time() - max(a) > 1.5e3 unless on (job, instance) b',
      [
        { metric: 'a', labels: [] },
        { metric: 'b', labels: [] },
      ],
      ['job', 'instance'],
    ],
    [
      'a * on (x) group_left (y) b',
      [
        { metric: 'a', labels: [] },
        { metric: 'b', labels: [] },
      ],
      ['x', 'y'],
    ],
    [
      'histogram_quantile(0.99, sum by (le) (rate(h_bucket[$__rate_interval])))',
      [{ metric: 'h_bucket', labels: [] }],
      ['le'],
    ],
    [
      'a{text="sum by (x) {y}"} or absent(b)',
      [
        { metric: 'a', labels: ['text'] },
        { metric: 'b', labels: [] },
      ],
      [],
    ],
    ['count without (pod) (a) > bool 3', [{ metric: 'a', labels: [] }], ['pod']],
    [
      'a == scalar(max(a))',
      [
        { metric: 'a', labels: [] },
        { metric: 'a', labels: [] },
      ],
      [],
    ],
  ])('%s', (expression, selectors, groupings) => {
    expect(readByExpression(expression)).toEqual({ selectors, groupings });
  });

  test('a selector without a name is refused: nothing could hold it to what exists', () => {
    expect(() => readByExpression('{job="order-api"} == 0')).toThrow('without the name of a metric');
  });
});
