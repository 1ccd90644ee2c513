import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowBundlePath } from './workflow-bundle';

/** Builds the workflow code ahead, so that a worker starts at once and every worker runs the very same code. */
async function build(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(__dirname, '..', '..', 'workflows', 'index.js'),
    logger: new DefaultLogger('ERROR'),
  });
  writeFileSync(workflowBundlePath(), code);
}

build().catch((error: unknown) => {
  process.stderr.write(`the workflow bundle could not be built: ${String(error)}\n`);
  process.exit(1);
});
