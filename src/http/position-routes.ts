import type { Express, Request, Response } from 'express';
import { pageQuery } from '../contracts/order-api';
import { findPosition, listPositionChanges, listPositions, type PositionRow } from '../db/positions';
import { SYMBOL } from '../domain/ids';
import type { AppDeps } from './app-deps';
import { decodeCursor, pageOf } from './paging';
import { parseQuery, refuseQuery } from './parse';
import { onlyMethods, ProblemError } from './problem';
import { replyJson } from './reply';
import { accountOf } from './request-context';

/** Everything under /v1/positions. */
export function addPositionRoutes(app: Express, deps: AppDeps): void {
  app
    .route('/v1/positions')
    .get((request, response) => list(deps, request, response))
    .all(onlyMethods('GET', 'HEAD'));
  app
    .route('/v1/positions/:symbol')
    .get((request, response) => show(deps, request, response))
    .all(onlyMethods('GET', 'HEAD'));
  app
    .route('/v1/positions/:symbol/history')
    .get((request, response) => history(deps, request, response))
    .all(onlyMethods('GET', 'HEAD'));
}

async function list(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const { cursor, limit } = parseQuery(pageQuery, request);
  const rows = await listPositions(deps.pool, {
    accountId: accountOf(response),
    ...(cursor === undefined ? {} : { afterSymbol: decodeCursor(cursor, SYMBOL) }),
    limit: limit + 1,
  });
  const { items, nextCursor } = pageOf(rows, limit, (row) => row.symbol);
  replyJson(response, 200, { positions: items, nextCursor });
}

async function show(deps: AppDeps, request: Request, response: Response): Promise<void> {
  refuseQuery(request);
  replyJson(response, 200, await requirePosition(deps, request, response));
}

async function history(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const { cursor, limit } = parseQuery(pageQuery, request);
  const before = cursor === undefined ? {} : { beforeSequence: decodeCursor(cursor, /^\d{1,18}$/) };
  const position = await requirePosition(deps, request, response);
  const rows = await listPositionChanges(deps.pool, position, { ...before, limit: limit + 1 });
  const { items, nextCursor } = pageOf(rows, limit, (row) => String(row.sequence));
  replyJson(response, 200, { changes: items, nextCursor });
}

/** The position of this account; a symbol that only others have traded has none. */
async function requirePosition(deps: AppDeps, request: Request, response: Response): Promise<PositionRow> {
  const accountId = accountOf(response);
  const symbol = String(request.params['symbol']);
  const position = SYMBOL.test(symbol) ? await findPosition(deps.pool, { accountId, symbol }) : undefined;
  if (position === undefined) {
    throw new ProblemError('POSITION_NOT_FOUND', 'this account has never traded this symbol');
  }
  return position;
}
