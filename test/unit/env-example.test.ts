import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_VARIABLES, loadConfig } from '../../src/config';
import { packageRoot } from '../../src/package-root';

/** `NAME=value`, commented out or not; a variable without a default stands alone behind its hash. */
const VARIABLE = /^(# )?([A-Z][A-Z0-9_]+)(?:=(.*))?$/;

const lines = readFileSync(join(packageRoot(), '.env.example'), 'utf8')
  .split('\n')
  .map((line) => VARIABLE.exec(line))
  .filter((match) => match !== null)
  .map((match) => ({ name: match[2]!, value: match[3], isDefault: match[1] !== undefined }));

function environmentOf(chosen: typeof lines): Record<string, string> {
  return Object.fromEntries(
    chosen.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
}

describe('.env.example', () => {
  test('lists exactly the variables of the configuration, in its order', () => {
    expect(lines.map(({ name }) => name)).toEqual(CONFIG_VARIABLES);
  });

  test('is enough for a start as it is', () => {
    const set = lines.filter(({ isDefault }) => !isDefault);
    expect(set.map(({ name }) => name)).toEqual(['DATABASE_URL', 'TEMPORAL_ADDRESS', 'KAFKA_BROKERS']);
    expect(() => loadConfig(environmentOf(set))).not.toThrow();
  });

  test('shows the defaults as they are', () => {
    const set = lines.filter(({ isDefault }) => !isDefault);
    expect(loadConfig(environmentOf(lines))).toEqual(loadConfig(environmentOf(set)));
  });
});
