import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { packageRoot } from '../../src/package-root';
import { grafanaBoard, readYaml, type Panel } from '../support/deployed-rules';
import { readByExpression } from '../support/promql';

const { panels, uid, title } = grafanaBoard();
const drawn = panels.filter(({ type }) => type !== 'row');

function provisioned(file: string): unknown {
  return parse(readFileSync(join(packageRoot(), 'deploy', 'grafana', 'provisioning', file), 'utf8'));
}

const sources = (
  provisioned('datasources/prometheus.yml') as {
    datasources: readonly { uid: string; type: string; jsonData: { timeInterval: string } }[];
  }
).datasources;

function overlap(a: Panel['gridPos'], b: Panel['gridPos']): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

describe('the board', () => {
  test('has a name and panels of their own', () => {
    expect([uid, title]).toEqual(['tekil', 'Tekil']);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map((panel) => panel.title)).size).toBe(panels.length);
  });

  test('lays no panel over another, nor over the edge', () => {
    for (const [index, { gridPos, title: one }] of panels.entries()) {
      expect([one, gridPos.x + gridPos.w <= 24]).toEqual([one, true]);
      const covered = panels.slice(index + 1).filter((other) => overlap(gridPos, other.gridPos));
      expect([one, covered.map((other) => other.title)]).toEqual([one, []]);
    }
  });

  test('asks the source that is provided for it', () => {
    const provided = sources.map((source) => ({ type: source.type, uid: source.uid }));
    for (const { datasource } of drawn) expect(provided).toContainEqual(datasource);
  });

  test.each(drawn)('names its lines by labels that are left: $title', ({ targets = [] }) => {
    expect(targets.length).toBeGreaterThan(0);
    for (const { expr, legendFormat = '' } of targets) {
      const used = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
      const { groupings } = readByExpression(expr);
      expect([expr, used.filter((label) => !groupings.includes(label))]).toEqual([expr, []]);
    }
  });
});

describe('what Grafana is given', () => {
  test('knows how often Prometheus scrapes: rates are taken over windows that hold enough of it', () => {
    const { global } = readYaml('prometheus.yml') as { global: { scrape_interval: string } };
    expect(sources.map(({ jsonData }) => jsonData.timeInterval)).toEqual([global.scrape_interval]);
  });

  test('is one source by default', () => {
    expect(sources).toMatchObject([{ isDefault: true }]);
  });
});
