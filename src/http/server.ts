import { createServer } from 'node:http';
import type { Config } from '../config';
import type { ReadPayload } from '../db/operator-decisions';
import type { Pool } from '../db/pool';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import type { ExecutionGateway, OrderGateway } from '../temporal/order-gateway';
import { createApp } from './app';
import { serve, type Listening } from './serve';

/** What a request may take beyond the wait for an order's answer: its look-ups, its start. */
const REQUEST_DEADLINE_SLACK_MS = 5_000;
/** A client that takes longer than this to send its request is let go. */
const REQUEST_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 5_000;
/** How often the two above are looked at. */
const TIMEOUT_CHECK_MS = 1_000;
/** Longer than common load balancers keep an idle connection, so that they and not we close it. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

export interface ApiServerParts {
  readonly config: Pick<
    Config,
    'API_HOST' | 'API_PORT' | 'API_BODY_LIMIT_BYTES' | 'API_ANSWER_DEADLINE_MS' | 'ORDER_ACCEPT_WINDOW_MS'
  >;
  readonly pool: Pool;
  readonly gateway: OrderGateway;
  readonly executions: ExecutionGateway;
  readonly readPayload: ReadPayload;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Serves the public API until it is closed; answers in flight are finished first. */
export async function startApiServer({ config, ...parts }: ApiServerParts): Promise<Listening> {
  const app = createApp({
    ...parts,
    acceptWindowMs: config.ORDER_ACCEPT_WINDOW_MS,
    answerDeadlineMs: config.API_ANSWER_DEADLINE_MS,
    requestDeadlineMs: config.API_ANSWER_DEADLINE_MS + REQUEST_DEADLINE_SLACK_MS,
    bodyLimitBytes: config.API_BODY_LIMIT_BYTES,
  });
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    },
    app,
  );
  return serve(server, { host: config.API_HOST, port: config.API_PORT });
}
