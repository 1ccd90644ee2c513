import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where a history was recorded is nobody's business, and no replay looks at it. */
const LEFT_OUT = new Set(['stackTrace', 'identity', 'workerVersion']);

/** Writes a history, as `historyToJSON` gives it, into the folder of the version that has written it. */
export function writeHistory(folder: string, name: string, history: string): void {
  const told: unknown = JSON.parse(history, (key, value: unknown) => {
    if (LEFT_OUT.has(key)) return undefined;
    // A worker's own queue is named after its process and host.
    return key === 'name' && typeof value === 'string'
      ? value.replace(/^\d+@.*/, 'a worker of its own')
      : value;
  });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(told, null, 1)}\n`);
  process.stdout.write(`${name}\n`);
}
