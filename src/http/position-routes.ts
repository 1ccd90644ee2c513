import { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import { findPosition, listPositions } from '../db/positions';
import { SYMBOL } from '../domain/ids';
import type { AppDeps } from './app';
import { accountOf } from './auth';
import { onlyMethods, ProblemError, sendJson } from './problem';
import { cursorParameter, decodeCursor, limitParameter, pageOf, parseQuery } from './query';

/** Everything under /v1/positions. */
export function positionRoutes(deps: AppDeps): Router {
  const router = Router({ strict: true });
  router
    .route('/')
    .get((request, response) => list(deps, request, response))
    .all(onlyMethods('GET'));
  router
    .route('/:symbol')
    .get((request, response) => show(deps, request, response))
    .all(onlyMethods('GET'));
  return router;
}

const listQuery = z.strictObject({ cursor: cursorParameter.optional(), limit: limitParameter });

async function list(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const { cursor, limit } = parseQuery(listQuery, request);
  const rows = await listPositions(deps.pool, {
    accountId: accountOf(response),
    ...(cursor === undefined ? {} : { afterSymbol: decodeCursor(cursor, SYMBOL) }),
    limit: limit + 1,
  });
  const { items, nextCursor } = pageOf(rows, limit, (row) => row.symbol);
  sendJson(response, 200, { positions: items, nextCursor });
}

async function show(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const symbol = String(request.params['symbol']);
  const position = await findPosition(deps.pool, { accountId: accountOf(response), symbol });
  if (position === undefined) {
    throw new ProblemError('POSITION_NOT_FOUND', 'this account has never traded this symbol');
  }
  sendJson(response, 200, position);
}
