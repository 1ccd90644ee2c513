import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buildIfStale } from './lib/build.mjs';
import { ROOT } from './lib/checkout.mjs';
import { main, setUp } from './lib/set-up.mjs';

await main(async () => {
  await setUp();
  await buildIfStale();
  const require = createRequire(import.meta.url);
  const { runTekil } = require('../dist/src/dev/start.js');
  const code = await runTekil({
    dataDir: process.env['TEKIL_DATA'] ?? join(ROOT, '.tekil-data'),
    environment: process.env,
    // npm passes signals on, but it cannot when it is killed.
    endWithParent: process.env['npm_lifecycle_event'] === 'start',
  });
  // A start that was interrupted may still be waiting for something that will not come.
  process.exit(code);
});
