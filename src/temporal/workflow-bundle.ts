import { join } from 'node:path';
import { packageRoot } from '../package-root';

/** Where `npm run build` puts the workflow code. */
export function workflowBundlePath(): string {
  return join(packageRoot(), 'dist', 'workflow-bundle.js');
}
