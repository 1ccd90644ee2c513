import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Logger } from '../observability/logger';

/** How long a process waits at its start for Temporal to answer before it gives up and lets its supervisor decide. */
const START_TIMEOUT_MS = 60_000;
const RETRY_INTERVAL_MS = 500;

export interface TemporalAddress {
  readonly address: string;
  readonly namespace: string;
}

export interface TemporalClient {
  readonly client: Client;
  readonly close: () => Promise<void>;
}

/** A client for processes without a worker. Waits for the server at start, for a bounded time. */
export async function connectClient(target: TemporalAddress, logger: Logger): Promise<TemporalClient> {
  const connection = await patiently(target, logger, () =>
    Connection.connect({ address: target.address, connectTimeout: RETRY_INTERVAL_MS * 4 }),
  );
  return {
    client: new Client({ connection, namespace: target.namespace }),
    close: () => connection.close(),
  };
}

export interface TemporalWorkerConnection extends TemporalClient {
  readonly connection: NativeConnection;
}

/** One native connection for a worker and a client: what an eager start needs. */
export async function connectWorker(
  target: TemporalAddress,
  logger: Logger,
): Promise<TemporalWorkerConnection> {
  const connection = await patiently(target, logger, () =>
    NativeConnection.connect({ address: target.address }),
  );
  return {
    connection,
    client: new Client({ connection, namespace: target.namespace }),
    close: () => connection.close(),
  };
}

async function patiently<T>(target: TemporalAddress, logger: Logger, connect: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      if (performance.now() > giveUpAt) {
        throw new Error(`Temporal at ${target.address} did not answer within ${START_TIMEOUT_MS} ms`, {
          cause: error,
        });
      }
      logger.warn({ err: error, address: target.address }, 'Temporal does not answer yet');
      await new Promise((resolve) => setTimeout(resolve, RETRY_INTERVAL_MS));
    }
  }
}
