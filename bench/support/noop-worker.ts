import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

/** A worker for the floor, in a process of its own. Arguments: address, task queue. */
async function main(): Promise<void> {
  const [address = '', taskQueue = ''] = process.argv.slice(2);
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address });
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: join(__dirname, 'noop-workflow.ts'),
    logger: new DefaultLogger('ERROR'),
  });
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowBundle,
    maxConcurrentWorkflowTaskExecutions: 100,
    maxCachedWorkflows: 2_000,
  });
  const running = worker.run();
  console.log('ready');
  await running;
  await connection.close();
}

void main();
