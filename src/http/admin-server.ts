import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';

const CHECK_TIMEOUT_MS = 2_000;

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
export async function startAdminServer(
  options: AdminServerOptions,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    answer(request.url ?? '/', response, options).catch((error: unknown) => {
      options.logger.error({ err: error }, 'the admin server failed to answer');
      response.destroy();
    });
  });
  await listen(server, options.port, options.host);
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
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

async function failingChecks(
  checks: Readonly<Record<string, () => Promise<void>>>,
): Promise<Record<string, string>> {
  const outcomes = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await Promise.race([check(), timeout()]);
        return [];
      } catch (error) {
        return [[name, error instanceof Error ? error.message : String(error)] as const];
      }
    }),
  );
  return Object.fromEntries(outcomes.flat());
}

async function timeout(): Promise<never> {
  await new Promise((resolve) => {
    setTimeout(resolve, CHECK_TIMEOUT_MS).unref();
  });
  throw new Error(`did not answer within ${CHECK_TIMEOUT_MS} ms`);
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'content-type': contentType });
  response.end(body);
}

/** Resolves when the server listens; rejects when the port cannot be had. */
export async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Stops taking connections, lets answers in flight finish, and closes idle connections at once. */
export async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.close((error) => {
      if (error === undefined) resolve();
      else reject(error);
    });
    server.closeIdleConnections();
  });
}
