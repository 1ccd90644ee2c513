import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { packageRoot } from '../../src/package-root';

export const PROMETHEUS_FOLDER = join(packageRoot(), 'deploy', 'prometheus');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A file of deploy/prometheus. */
export function readYaml(file: string): unknown {
  return parse(readFileSync(join(PROMETHEUS_FOLDER, file), 'utf8'));
}

/** Every rule of alerts.yml, in order. */
export function alertRules(): readonly AlertRule[] {
  const { groups } = readYaml('alerts.yml') as { groups: readonly { rules: readonly AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
}

export interface Board {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

export function grafanaBoard(): Board {
  return JSON.parse(readFileSync(join(packageRoot(), 'deploy', 'grafana', 'tekil.json'), 'utf8')) as Board;
}
