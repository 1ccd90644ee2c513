import type { Express, Request, RequestHandler, Response } from 'express';
import { orderListQuery, pageQuery, type PendingOrderBody } from '../contracts/order-api';
import { orderRequestOf } from '../contracts/order-request';
import { findOrder, listOrderEvents, listOrders, type OrderRow } from '../db/orders';
import { isClientOrderId } from '../domain/ids';
import { isTerminal } from '../domain/order-status';
import type { AppDeps } from './app-deps';
import { readOrderBody } from './order-body';
import { orderResource } from './order-resource';
import { decodeCursor, pageOf } from './paging';
import { parseQuery, refuseQuery } from './parse';
import { onlyMethods, ProblemError, RETRY_AFTER_SECONDS } from './problem';
import { reply, replyJson } from './reply';
import { accountOf, contextOf } from './request-context';
import { submitOrder, type SubmitOutcome } from './submit-order';

/** Everything under /v1/orders. `readBody` is the parser of raw bodies. */
export function addOrderRoutes(app: Express, deps: AppDeps, readBody: RequestHandler): void {
  app
    .route('/v1/orders')
    .post(readBody, (request, response) => submit(deps, request, response))
    .get((request, response) => list(deps, request, response))
    .all(onlyMethods('GET', 'HEAD', 'POST'));
  app
    .route('/v1/orders/:clientOrderId')
    .get((request, response) => show(deps, request, response))
    .all(onlyMethods('GET', 'HEAD'));
  app
    .route('/v1/orders/:clientOrderId/cancel')
    .post((request, response) => cancel(deps, request, response))
    .all(onlyMethods('POST'));
  app
    .route('/v1/orders/:clientOrderId/events')
    .get((request, response) => events(deps, request, response))
    .all(onlyMethods('GET', 'HEAD'));
}

async function submit(deps: AppDeps, request: Request, response: Response): Promise<void> {
  refuseQuery(request);
  const order = orderRequestOf(accountOf(response), readOrderBody(request));
  const gone = (): Promise<void> =>
    new Promise((resolve) => {
      response.once('close', resolve);
    });
  const outcome = await submitOrder(deps, order, gone).catch((error: unknown) => {
    measure(deps, response, 'failed');
    throw error;
  });
  measure(deps, response, countOutcome(deps, outcome));
  sendOutcome(response, order.clientOrderId, outcome);
}

function measure({ metrics }: AppDeps, response: Response, outcome: string): void {
  const seconds = (performance.now() - contextOf(response).receivedAtMs) / 1_000;
  metrics.orderAnswerSeconds.observe({ outcome }, seconds);
}

/** Counts an outcome and names it. */
function countOutcome({ metrics }: AppDeps, outcome: SubmitOutcome): string {
  if (outcome.kind === 'pending') return 'pending';
  if (outcome.kind === 'reused' || outcome.replayed) {
    const repeat = outcome.kind === 'reused' ? 'reused' : 'replayed';
    metrics.duplicateOrders.inc({ outcome: repeat });
    return repeat;
  }
  const opened = outcome.statusCode === 201;
  const code = opened ? '' : (JSON.parse(outcome.body) as { readonly code: string }).code;
  metrics.ordersAnswered.inc({ outcome: opened ? 'opened' : 'refused', code });
  return opened ? 'opened' : 'refused';
}

function sendOutcome(response: Response, clientOrderId: string, outcome: SubmitOutcome): void {
  const headers = { Location: `/v1/orders/${encodeURIComponent(clientOrderId)}` };
  switch (outcome.kind) {
    case 'answered':
      reply(response, {
        status: outcome.statusCode,
        contentType: outcome.statusCode === 201 ? 'application/json' : 'application/problem+json',
        body: outcome.body,
        headers: outcome.replayed ? { ...headers, 'Idempotency-Replayed': 'true' } : headers,
      });
      return;
    case 'reused': {
      const where = outcome.fields.length === 0 ? '' : `; it differs in ${outcome.fields.join(', ')}`;
      throw new ProblemError(
        'IDEMPOTENCY_KEY_REUSED',
        `another request was sent under this clientOrderId${where}`,
        { facts: { clientOrderId, fields: outcome.fields } },
      );
    }
    case 'pending': {
      const body: PendingOrderBody = {
        clientOrderId,
        outcome: 'pending',
        detail: 'the outcome is not known yet; sending the same body again is safe and returns the answer',
      };
      replyJson(response, 202, body, { ...headers, 'Retry-After': String(RETRY_AFTER_SECONDS) });
    }
  }
}

async function list(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const { status, cursor, limit } = parseQuery(orderListQuery, request);
  const rows = await listOrders(deps.pool, {
    accountId: accountOf(response),
    ...(status === undefined ? {} : { status }),
    ...(cursor === undefined ? {} : { beforeId: decodeCursor(cursor, /^\d{1,18}$/) }),
    limit: limit + 1,
  });
  const { items, nextCursor } = pageOf(rows, limit, (row) => row.id);
  replyJson(response, 200, { orders: items.map(orderResource), nextCursor });
}

async function show(deps: AppDeps, request: Request, response: Response): Promise<void> {
  refuseQuery(request);
  replyJson(response, 200, orderResource(await requireOrder(deps, request, response)));
}

async function cancel(deps: AppDeps, request: Request, response: Response): Promise<void> {
  refuseQuery(request);
  const order = await requireOrder(deps, request, response);
  const asked = isTerminal(order.status) ? 'closed' : await deps.gateway.requestCancel(order);
  // Whatever came of it stands in the order's row; it may also have closed on its own in the meantime.
  const current = isTerminal(order.status) ? order : await requireOrder(deps, request, response);
  if (asked === 'requested') replyJson(response, 202, orderResource(current));
  else if (current.status === 'CANCELLED') replyJson(response, 200, orderResource(current));
  else throw notCancellable(current);
}

function notCancellable({ clientOrderId, status }: OrderRow): ProblemError {
  const detail = isTerminal(status)
    ? `the order is ${status}`
    : `the order is ${status}, but nothing runs any more that could cancel it; tell the operator`;
  return new ProblemError('ORDER_NOT_CANCELLABLE', detail, { facts: { clientOrderId, orderStatus: status } });
}

async function events(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const { cursor, limit } = parseQuery(pageQuery, request);
  const afterSequence = cursor === undefined ? 0 : Number(decodeCursor(cursor, /^\d{1,9}$/));
  const order = await requireOrder(deps, request, response);
  const rows = await listOrderEvents(deps.pool, order, { afterSequence, limit: limit + 1 });
  const { items, nextCursor } = pageOf(rows, limit, (row) => String(row.sequence));
  replyJson(response, 200, { events: items, nextCursor });
}

/** The order of this account; another account's order is as invisible as none. */
async function requireOrder(deps: AppDeps, request: Request, response: Response): Promise<OrderRow> {
  const accountId = accountOf(response);
  const clientOrderId = String(request.params['clientOrderId']);
  const order = isClientOrderId(clientOrderId)
    ? await findOrder(deps.pool, { accountId, clientOrderId })
    : undefined;
  if (order === undefined) {
    throw new ProblemError('ORDER_NOT_FOUND', 'this account has no order under this clientOrderId');
  }
  return order;
}
