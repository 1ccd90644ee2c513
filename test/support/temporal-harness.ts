import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import type { Activities } from '../../activities';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import type { Execution, ExecutionType } from '../../src/domain/execution';
import { createOrderWorker } from '../../src/temporal/order-worker';
import { workflowBundlePath } from '../../src/temporal/workflow-bundle';
import { serverAddress } from './environment';

let installed = false;

/** A real server, a task queue of this test's own, and activities that the test decides about. */
export interface TemporalHarness {
  readonly client: Client;
  readonly taskQueue: string;
  /** Starts a worker; `stop` shuts it down and waits for it. */
  startWorker(activities: Activities): Promise<{ readonly worker: Worker; stop(): Promise<void> }>;
  close(): Promise<void>;
}

export async function connectHarness(): Promise<TemporalHarness> {
  if (!installed) {
    Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
    installed = true;
  }
  const connection = await NativeConnection.connect({ address: serverAddress('TEMPORAL_ADDRESS') });
  const taskQueue = `test-${randomUUID()}`;
  const running = new Set<() => Promise<void>>();
  return {
    client: new Client({ connection }),
    taskQueue,
    startWorker: async (activities) => {
      const worker = await createOrderWorker({
        connection,
        namespace: 'default',
        taskQueue,
        workflowBundlePath: workflowBundlePath(),
        activities,
        poolSize: 16,
        shutdownGraceMs: 1_000,
        shutdownForceMs: 5_000,
      });
      const done = worker.run();
      const stop = async (): Promise<void> => {
        running.delete(stop);
        if (worker.getState() === 'RUNNING') worker.shutdown();
        await done;
      };
      running.add(stop);
      return { worker, stop };
    },
    close: async () => {
      for (const stop of running) await stop();
      await connection.close();
    },
  };
}

/** A valid command for an order that no other test has. */
export function aCommand(change: Partial<OpenOrderCommand['request']> = {}): OpenOrderCommand {
  return {
    request: {
      accountId: `acc-${randomUUID().slice(0, 8)}`,
      clientOrderId: randomUUID(),
      symbol: 'EURUSD',
      side: 'buy',
      quantity: '10',
      type: 'market',
      timeInForce: 'gtc',
      ...change,
    },
    requestHash: '0'.repeat(64),
    requestId: randomUUID(),
    acceptBy: new Date(Date.now() + 10_000).toISOString(),
  };
}

/** A valid execution of an order. */
export function anExecution(
  command: OpenOrderCommand,
  type: ExecutionType,
  change: Partial<Execution> = {},
): Execution {
  const { accountId, clientOrderId, symbol, side } = command.request;
  return {
    source: 'TEST',
    type,
    executionId: randomUUID(),
    accountId,
    clientOrderId,
    symbol,
    side,
    executedAt: '2026-03-14T09:26:53Z',
    ...(type === 'FILL' ? { quantity: '1', price: '1.1' } : {}),
    ...change,
  };
}
