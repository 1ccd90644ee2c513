import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { AppDeps } from './app-deps';
import { ProblemError, sendProblem } from './problem';
import { contextOf, setContext } from './request-context';

const SANE_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Gives the request its id and its deadline, and counts it when it is over. */
export function beginRequest(deps: AppDeps): RequestHandler {
  const { requestDeadlineMs: deadlineMs } = deps;
  return (request, response, next) => {
    setContext(response, { requestId: requestIdOf(request), receivedAtMs: performance.now() });
    const timer = setTimeout(() => {
      const detail = `there was no answer within ${deadlineMs} ms; sending the same request again is safe`;
      sendProblem(response, new ProblemError('DEADLINE_EXCEEDED', detail));
    }, deadlineMs);
    response.once('close', () => {
      clearTimeout(timer);
      record(deps, request, response);
    });
    next();
  };
}

/** The caller's id for this request, when it is a sane one, else one of ours. */
function requestIdOf(request: Request): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
}

function record({ metrics, logger }: AppDeps, request: Request, response: Response): void {
  const { requestId, receivedAtMs } = contextOf(response);
  const seconds = (performance.now() - receivedAtMs) / 1_000;
  const { method } = request;
  // A client that went away has had no status.
  const status = response.writableFinished ? String(response.statusCode) : 'gone';
  const route = routeOf(request);
  metrics.httpRequestSeconds.observe({ route, method, status }, seconds);
  logger.debug({ requestId, method, route, status, seconds }, 'answered');
}

/** The route's pattern, not its path: a label must not take as many values as there are orders. */
function routeOf(request: Request): string {
  const route: unknown = request.route;
  const matched = typeof route === 'object' && route !== null && 'path' in route;
  return matched && typeof route.path === 'string' ? route.path : 'unmatched';
}
