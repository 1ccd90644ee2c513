import { createServer, type ServerResponse } from 'node:http';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import { serve, type Listening } from './serve';

const CHECK_TIMEOUT_MS = 2_000;
/** Nobody sends a body here; a connection that dawdles over its headers is let go. */
const REQUEST_TIMEOUT_MS = 5_000;
/** An answer here takes at most as long as its checks. */
const CLOSE_TIMEOUT_MS = 3_000;

export interface AdminServerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly metrics: Metrics;
  /** What must work before this process is ready; each rejects with its reason. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  readonly logger: Logger;
}

/**
 * Health and metrics, on a port of their own so that they are never public by accident.
 * `/healthz`: the process is alive. `/readyz`: its checks pass, or 503 with those that do not. `/metrics`: Prometheus.
 */
export async function startAdminServer(options: AdminServerOptions): Promise<Listening> {
  const timeouts = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const server = createServer(timeouts, (request, response) => {
    answer(request.url ?? '/', response, options).catch((error: unknown) => {
      options.logger.error({ err: error }, 'the admin server failed to answer');
      response.destroy();
    });
  });
  return serve(server, options, CLOSE_TIMEOUT_MS);
}

async function answer(url: string, response: ServerResponse, options: AdminServerOptions): Promise<void> {
  const path = url.replace(/\?.*/, '');
  switch (path) {
    case '/healthz':
      send(response, 200, 'text/plain', 'ok\n');
      return;
    case '/readyz': {
      const failing = await failingChecks(options.checks);
      const ready = Object.keys(failing).length === 0;
      send(response, ready ? 200 : 503, 'application/json', `${JSON.stringify({ ready, failing })}\n`);
      return;
    }
    case '/metrics': {
      const { registry } = options.metrics;
      send(response, 200, registry.contentType, await registry.metrics());
      return;
    }
    default:
      send(response, 404, 'text/plain', 'there is /healthz, /readyz and /metrics\n');
  }
}

async function failingChecks(checks: AdminServerOptions['checks']): Promise<Record<string, string>> {
  const reasons = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await whyFailing(check)] as const),
  );
  return Object.fromEntries(
    reasons.flatMap(([name, reason]) => (reason === undefined ? [] : [[name, reason]])),
  );
}

async function whyFailing(check: () => Promise<void>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, CHECK_TIMEOUT_MS, `did not answer within ${CHECK_TIMEOUT_MS} ms`);
  });
  try {
    return await Promise.race([check().then(() => undefined), overdue]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'content-type': contentType });
  response.end(body);
}
