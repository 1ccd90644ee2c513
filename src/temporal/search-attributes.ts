import { Connection } from '@temporalio/client';
import { accountIdAttribute, orderStatusAttribute, symbolAttribute } from '../../workflows/messages';
import type { TemporalAddress } from './connection';

/** By what operators find workflows. Each is of the type Keyword. */
export const SEARCH_ATTRIBUTES = [accountIdAttribute, symbolAttribute, orderStatusAttribute] as const;

/** The name of that type in Temporal's command line, and its number in Temporal's interface. */
export const KEYWORD_TYPE_NAME = 'Keyword';
const KEYWORD_TYPE_NUMBER = 2;

const RPC_TIMEOUT_MS = 5_000;
const APPEAR_TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 200;

/**
 * Registers the search attributes that the namespace lacks; running it again changes nothing.
 * @throws {Error} when one exists with another type, or does not appear in time.
 */
export async function ensureSearchAttributes({ address, namespace }: TemporalAddress): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: RPC_TIMEOUT_MS });
  try {
    const missing = await missingAttributes(connection, namespace);
    if (missing.length === 0) return;
    const searchAttributes = Object.fromEntries(missing.map((name) => [name, KEYWORD_TYPE_NUMBER] as const));
    await withinDeadline(connection, () =>
      connection.operatorService.addSearchAttributes({ namespace, searchAttributes }),
    );
    await untilNoneIsMissing(connection, namespace);
  } finally {
    await connection.close();
  }
}

async function untilNoneIsMissing(connection: Connection, namespace: string): Promise<void> {
  const giveUpAt = performance.now() + APPEAR_TIMEOUT_MS;
  while ((await missingAttributes(connection, namespace)).length > 0) {
    if (performance.now() > giveUpAt) {
      throw new Error(`the search attributes did not appear within ${APPEAR_TIMEOUT_MS} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}

async function missingAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const { customAttributes } = await withinDeadline(connection, () =>
    connection.operatorService.listSearchAttributes({ namespace }),
  );
  const typeOf = new Map<string, number>(Object.entries(customAttributes));
  const names = SEARCH_ATTRIBUTES.map(({ name }) => name);
  for (const name of names) {
    if ((typeOf.get(name) ?? KEYWORD_TYPE_NUMBER) === KEYWORD_TYPE_NUMBER) continue;
    throw new Error(`the search attribute ${name} exists with another type: it must be ${KEYWORD_TYPE_NAME}`);
  }
  return names.filter((name) => !typeOf.has(name));
}

function withinDeadline<T>(connection: Connection, call: () => Promise<T>): Promise<T> {
  return connection.withDeadline(Date.now() + RPC_TIMEOUT_MS, call);
}
