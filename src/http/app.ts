import { randomUUID } from 'node:crypto';
import express, { type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import { authenticate } from './auth';
import { orderRoutes } from './order-routes';
import { positionRoutes } from './position-routes';
import { notFound, problemHandler } from './problem';
import type { SubmitOrderDeps } from './submit-order';

export interface AppDeps extends SubmitOrderDeps {
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly bodyLimitBytes: number;
}

/** The public API. Everything behind authentication is scoped to the account of the key. */
export function createApp(deps: AppDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.set('query parser', 'simple');
  app.use(requestId, observe(deps.metrics), helmet());
  const readBody = express.raw({ type: () => true, limit: deps.bodyLimitBytes, inflate: false });
  app.use('/v1', authenticate(deps.pool));
  app.use('/v1/orders', orderRoutes(deps, readBody));
  app.use('/v1/positions', positionRoutes(deps));
  app.use(notFound);
  app.use(problemHandler(deps.logger));
  return app;
}

const SANE_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** The caller's id for this request, when it is a sane one, else one of ours; in every answer and log line. */
const requestId: RequestHandler = (request, response, next) => {
  const given = request.get('x-request-id');
  response.setHeader(
    'X-Request-Id',
    given !== undefined && SANE_REQUEST_ID.test(given) ? given : randomUUID(),
  );
  next();
};

function observe(metrics: Metrics): RequestHandler {
  return (request, response, next) => {
    const stopTimer = metrics.httpRequestSeconds.startTimer();
    response.once('finish', () => {
      // The route's pattern, not its path: a label must not take as many values as there are orders.
      const route: unknown = request.route;
      const pattern = hasPath(route) ? `${request.baseUrl}${route.path}` : 'unmatched';
      stopTimer({ route: pattern, method: request.method, status: String(response.statusCode) });
    });
    next();
  };
}

function hasPath(route: unknown): route is { readonly path: string } {
  return typeof route === 'object' && route !== null && 'path' in route && typeof route.path === 'string';
}
