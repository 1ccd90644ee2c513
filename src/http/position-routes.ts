import type { Express, Request, Response } from 'express';
import { pageQuery } from '../contracts/order-api';
import { findPosition, listPositions } from '../db/positions';
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
  const accountId = accountOf(response);
  const symbol = String(request.params['symbol']);
  const position = SYMBOL.test(symbol) ? await findPosition(deps.pool, { accountId, symbol }) : undefined;
  if (position === undefined) {
    throw new ProblemError('POSITION_NOT_FOUND', 'this account has never traded this symbol');
  }
  replyJson(response, 200, position);
}
