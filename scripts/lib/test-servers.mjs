import { createRequire } from 'node:module';
import { ROOT } from './checkout.mjs';
import { outlivingSignals, wasInterrupted } from './run.mjs';

const VARIABLES = ['DATABASE_URL', 'TEMPORAL_ADDRESS', 'KAFKA_BROKERS'];

/** The servers whose addresses the environment names. */
export function externalServers() {
  return Object.fromEntries(
    VARIABLES.map((name) => [name, process.env[name] ?? '']).filter(([, address]) => address !== ''),
  );
}

/** Is there nothing left to start? */
export function allServersAreExternal() {
  return Object.keys(externalServers()).length === VARIABLES.length;
}

/**
 * Runs `work` with the three servers, and stops those that it started. Needs the build.
 * @template T
 * @param {(addresses: Record<string, string>) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withTestServers(work) {
  const external = externalServers();
  if (allServersAreExternal()) return work(external);
  const require = createRequire(import.meta.url);
  const { startTestServers } = require(`${ROOT}/dist/src/dev/test-servers.js`);
  return outlivingSignals(async () => {
    const servers = await startTestServers(external);
    try {
      if (wasInterrupted()) throw new Error('interrupted');
      return await work(servers.addresses);
    } finally {
      await servers.stop();
    }
  });
}
