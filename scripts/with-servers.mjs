import { buildIfStale } from './lib/build.mjs';
import { execute } from './lib/run.mjs';
import { main, setUp } from './lib/set-up.mjs';
import { allServersAreExternal, withTestServers } from './lib/test-servers.mjs';

const COMMAND_TIMEOUT_MS = 3_600_000;

await main(async () => {
  const [command, ...args] = process.argv.slice(2);
  if (command === undefined) throw new Error('usage: node scripts/with-servers.mjs COMMAND [ARGUMENTS…]');
  if (!allServersAreExternal()) {
    await setUp();
    await buildIfStale();
  }
  return withTestServers(async (addresses) => {
    const env = { ...process.env, ...addresses };
    const { code, trouble } = await execute(command, args, {
      timeoutMs: COMMAND_TIMEOUT_MS,
      visible: true,
      env,
    });
    if (trouble !== undefined) console.error(`${command}: ${trouble}`);
    return code;
  });
});
