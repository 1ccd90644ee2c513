import { Router, type Request, type RequestHandler, type Response } from 'express';
import { z } from 'zod';
import { orderRequestBody, orderRequestOf } from '../contracts/order-request';
import { findOrder, listOrderEvents, listOrders, type OrderRow } from '../db/orders';
import { isClientOrderId, type OrderKey } from '../domain/ids';
import { isTerminal, ORDER_STATUSES } from '../domain/order-status';
import type { AppDeps } from './app';
import { accountOf } from './auth';
import { orderResource } from './order-resource';
import { onlyMethods, ProblemError, sendJson, sendProblem } from './problem';
import { cursorParameter, decodeCursor, limitParameter, pageOf, parseOr400, parseQuery } from './query';
import { parseStrictJson } from './strict-json';
import { submitOrder, type SubmitOutcome } from './submit-order';

/** Everything under /v1/orders. `readBody` is the parser of raw bodies. */
export function orderRoutes(deps: AppDeps, readBody: RequestHandler): Router {
  const router = Router({ strict: true });
  router
    .route('/')
    .post(readBody, (request, response) => submit(deps, request, response))
    .get((request, response) => list(deps, request, response))
    .all(onlyMethods('GET', 'POST'));
  router
    .route('/:clientOrderId')
    .get((request, response) => show(deps, request, response))
    .all(onlyMethods('GET'));
  router
    .route('/:clientOrderId/cancel')
    .post((request, response) => cancel(deps, request, response))
    .all(onlyMethods('POST'));
  router
    .route('/:clientOrderId/events')
    .get((request, response) => events(deps, request, response))
    .all(onlyMethods('GET'));
  return router;
}

async function submit(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const stopTimer = deps.metrics.orderAnswerSeconds.startTimer();
  const body = parseOr400(orderRequestBody, parseStrictJson(jsonBody(request)));
  const header = request.headers['idempotency-key'];
  if (header !== undefined && header !== body.clientOrderId) {
    throw new ProblemError(
      'IDEMPOTENCY_KEY_MISMATCH',
      'the Idempotency-Key header, when it is sent, must equal clientOrderId',
    );
  }
  const gone = new AbortController();
  // The order goes on; only the wait for its answer ends with the connection.
  response.once('close', () => {
    gone.abort();
  });
  const outcome = await submitOrder(deps, orderRequestOf(accountOf(response), body), gone.signal);
  sendOutcome(deps, response, body.clientOrderId, outcome);
  stopTimer({ outcome: outcome.kind });
}

function jsonBody(request: Request): Buffer {
  if (request.is('application/json') === false) {
    throw new ProblemError('UNSUPPORTED_MEDIA_TYPE', 'send the body as "Content-Type: application/json"');
  }
  const body: unknown = request.body;
  if (Buffer.isBuffer(body) && body.length > 0) return body;
  throw new ProblemError('MALFORMED_JSON', 'the body is empty');
}

function sendOutcome(deps: AppDeps, response: Response, clientOrderId: string, outcome: SubmitOutcome): void {
  const location = `/v1/orders/${encodeURIComponent(clientOrderId)}`;
  switch (outcome.kind) {
    case 'answered': {
      const { statusCode, body, replayed } = outcome;
      response.setHeader('Location', location);
      if (replayed) response.setHeader('Idempotency-Replayed', 'true');
      if (replayed) deps.metrics.duplicateOrders.inc({ outcome: 'replayed' });
      else deps.metrics.ordersAnswered.inc({ outcome: statusCode === 201 ? 'opened' : 'refused' });
      const type = statusCode === 201 ? 'application/json' : 'application/problem+json';
      response.status(statusCode).type(type).send(body);
      return;
    }
    case 'reused':
      deps.metrics.duplicateOrders.inc({ outcome: 'reused' });
      sendProblem(
        response,
        'IDEMPOTENCY_KEY_REUSED',
        `another request was sent under this key; it differs in ${outcome.fields.join(', ')}`,
        { clientOrderId, fields: outcome.fields },
      );
      return;
    case 'pending':
      response.setHeader('Location', location);
      response.setHeader('Retry-After', '1');
      sendJson(response, 202, {
        clientOrderId,
        outcome: 'pending',
        detail: 'the outcome is not known yet; sending the same body again is safe and returns the answer',
      });
  }
}

const listQuery = z.strictObject({
  status: z.enum(ORDER_STATUSES).optional(),
  cursor: cursorParameter.optional(),
  limit: limitParameter,
});

async function list(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const { status, cursor, limit } = parseQuery(listQuery, request);
  const rows = await listOrders(deps.pool, {
    accountId: accountOf(response),
    ...(status === undefined ? {} : { status }),
    ...(cursor === undefined ? {} : { beforeId: decodeCursor(cursor, /^\d{1,18}$/) }),
    limit: limit + 1,
  });
  const { items, nextCursor } = pageOf(rows, limit, (row) => row.id);
  sendJson(response, 200, { orders: items.map(orderResource), nextCursor });
}

async function show(deps: AppDeps, request: Request, response: Response): Promise<void> {
  sendJson(response, 200, orderResource(await requireOrder(deps, request, response)));
}

async function cancel(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const order = await requireOrder(deps, request, response);
  if (!isTerminal(order.status)) {
    await deps.gateway.requestCancel(order);
    sendJson(response, 202, orderResource((await findOrder(deps.pool, order)) ?? order));
    return;
  }
  if (order.status === 'CANCELLED') sendJson(response, 200, orderResource(order));
  else {
    const { clientOrderId, status } = order;
    sendProblem(response, 'ORDER_NOT_CANCELLABLE', `the order is ${status}`, {
      clientOrderId,
      orderStatus: status,
    });
  }
}

const eventsQuery = z.strictObject({ cursor: cursorParameter.optional(), limit: limitParameter });

async function events(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const { cursor, limit } = parseQuery(eventsQuery, request);
  const order = await requireOrder(deps, request, response);
  const afterSequence = cursor === undefined ? 0 : Number(decodeCursor(cursor, /^\d{1,9}$/));
  const rows = await listOrderEvents(deps.pool, order, { afterSequence, limit: limit + 1 });
  const { items, nextCursor } = pageOf(rows, limit, (row) => String(row.sequence));
  sendJson(response, 200, { events: items, nextCursor });
}

/** The order of this account; another account's order is as invisible as none. */
async function requireOrder(deps: AppDeps, request: Request, response: Response): Promise<OrderRow> {
  const key: OrderKey = {
    accountId: accountOf(response),
    clientOrderId: String(request.params['clientOrderId']),
  };
  const order = isClientOrderId(key.clientOrderId) ? await findOrder(deps.pool, key) : undefined;
  if (order === undefined) {
    throw new ProblemError('ORDER_NOT_FOUND', 'this account has no order under this clientOrderId');
  }
  return order;
}
