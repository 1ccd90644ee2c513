import express, { type Express } from 'express';
import type { AppDeps } from './app-deps';
import { authenticate } from './auth';
import { beginRequest } from './begin-request';
import { addOperatorRoutes } from './operator-routes';
import { addOrderRoutes } from './order-routes';
import { addPositionRoutes } from './position-routes';
import { notFound, problemHandler } from './problem';

/** The public API. Everything is behind authentication and scoped to the account of the key. */
export function createApp(deps: AppDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.set('query parser', 'simple');
  app.use(beginRequest(deps), authenticate(deps.pool));
  const readBody = express.raw({ type: () => true, limit: deps.bodyLimitBytes, inflate: false });
  addOrderRoutes(app, deps, readBody);
  addPositionRoutes(app, deps);
  addOperatorRoutes(app, deps, readBody);
  app.use(notFound);
  app.use(problemHandler(deps.logger));
  return app;
}
