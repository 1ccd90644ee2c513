import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Config } from '../config';
import type { Pool } from '../db/pool';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import type { OrderGateway } from '../temporal/order-gateway';
import { close, listen } from './admin-server';
import { createApp } from './app';

/** A client that takes longer than this to send its request is let go. */
const REQUEST_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 5_000;
/** Longer than common load balancers keep an idle connection, so that they and not we close it. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

export interface ApiServerParts {
  readonly config: Config;
  readonly pool: Pool;
  readonly gateway: OrderGateway;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Serves the public API until it is closed; answers in flight are finished first. */
export async function startApiServer({
  config,
  ...parts
}: ApiServerParts): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const app = createApp({
    ...parts,
    acceptWindowMs: config.ORDER_ACCEPT_WINDOW_MS,
    answerDeadlineMs: config.API_ANSWER_DEADLINE_MS,
    bodyLimitBytes: config.API_BODY_LIMIT_BYTES,
  });
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    },
    app,
  );
  await listen(server, config.API_PORT, config.API_HOST);
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}
