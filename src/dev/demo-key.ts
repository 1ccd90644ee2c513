import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createApiKey, findKeyHolder } from '../db/api-keys';
import type { Pool } from '../db/pool';

export const DEMO_ACCOUNT = 'demo';

/** The API key of the demo account: the one in `file` as long as the database knows it, else a new one. */
export async function ensureDemoKey(pool: Pool, file: string): Promise<string> {
  if (existsSync(file)) {
    const key = readFileSync(file, 'utf8').trim();
    if ((await findKeyHolder(pool, key))?.accountId === DEMO_ACCOUNT) return key;
  }
  const { key } = await createApiKey(pool, DEMO_ACCOUNT);
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  return key;
}
