import type { Express, Request, RequestHandler, Response } from 'express';
import {
  adoptRequestBody,
  decisionRequestBody,
  setAsideListQuery,
  type OperatorDecision,
} from '../contracts/operator-api';
import { decide, DecisionRefusedError, type DecisionCommand } from '../db/operator-decisions';
import { findSetAside, listSetAside, type SetAsideFilter } from '../db/set-aside-events';
import type { AppDeps } from './app-deps';
import { readJsonBody } from './json-body';
import { decodeCursor, pageOf } from './paging';
import { parseOr400, parseQuery, refuseQuery } from './parse';
import { onlyMethods, ProblemError } from './problem';
import { replyJson } from './reply';
import { holderOf, operatorOf } from './request-context';

const PATH = '/v1/operator/executions';
const CURSOR = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [qp][1-9]\d{0,17}$/;

/** Everything under /v1/operator. `readBody` is the parser of raw bodies. */
export function addOperatorRoutes(app: Express, deps: AppDeps, readBody: RequestHandler): void {
  app.use('/v1/operator', operatorsOnly);
  app
    .route(PATH)
    .get((request, response) => list(deps, request, response))
    .all(onlyMethods('GET', 'HEAD'));
  app
    .route(`${PATH}/:executionRef`)
    .get((request, response) => show(deps, request, response))
    .all(onlyMethods('GET', 'HEAD'));
  for (const decision of ['replay', 'adopt', 'discard'] as const) {
    app
      .route(`${PATH}/:executionRef/${decision}`)
      .post(readBody, (request, response) => decideOn(deps, decision, request, response))
      .all(onlyMethods('POST'));
  }
}

const operatorsOnly: RequestHandler = (_request, response, next) => {
  if (holderOf(response).scope !== 'operator') {
    throw new ProblemError('OPERATOR_ONLY', 'this key reads and writes its own account only');
  }
  next();
};

async function list(deps: AppDeps, request: Request, response: Response): Promise<void> {
  const { limit, cursor, ...filters } = parseQuery(setAsideListQuery, request);
  const rows = await listSetAside(deps.pool, {
    ...filters,
    after: cursor === undefined ? undefined : placeOf(cursor),
    limit: limit + 1,
  });
  const { items, nextCursor } = pageOf(rows, limit, ({ setAsideAt, id }) => `${setAsideAt} ${id}`);
  replyJson(response, 200, { executions: items, nextCursor });
}

function placeOf(cursor: string): SetAsideFilter['after'] {
  const [setAsideAt = '', id = ''] = decodeCursor(cursor, CURSOR).split(' ');
  return { setAsideAt, id };
}

async function show(deps: AppDeps, request: Request, response: Response): Promise<void> {
  refuseQuery(request);
  const id = refOf(request);
  const event = await findSetAside(deps.pool, id);
  if (event === undefined) throw new ProblemError('EXECUTION_NOT_FOUND', `there is no event ${id}`);
  replyJson(response, 200, event);
}

async function decideOn(
  deps: AppDeps,
  decision: OperatorDecision,
  request: Request,
  response: Response,
): Promise<void> {
  refuseQuery(request);
  const body = readJsonBody(request);
  const { reason, order } =
    decision === 'adopt'
      ? parseOr400(adoptRequestBody, body)
      : { ...parseOr400(decisionRequestBody, body), order: undefined };
  const eventId = refOf(request);
  const decided = await decideOr409(deps, {
    eventId,
    decision,
    reason,
    decidedBy: operatorOf(response),
    ...(order === undefined ? {} : { order }),
  });
  const outcome = decided.repeated ? 'repeated' : decided.decision.outcome;
  deps.metrics.operatorDecisions.inc({ decision, outcome });
  // When Temporal does not answer, the same request again tells the run what is decided already.
  if (decided.forRun !== undefined) await deps.executions.deliver(decided.forRun);
  replyJson(response, 200, { id: eventId, decision: decided.decision, repeated: decided.repeated });
}

const PROBLEMS = {
  unknown: 'EXECUTION_NOT_FOUND',
  decided: 'ALREADY_DECIDED',
  impossible: 'DECISION_IMPOSSIBLE',
} as const satisfies Record<DecisionRefusedError['kind'], string>;

async function decideOr409(deps: AppDeps, command: DecisionCommand): ReturnType<typeof decide> {
  try {
    return await decide(deps.pool, command, deps.readPayload);
  } catch (error) {
    if (!(error instanceof DecisionRefusedError)) throw error;
    deps.metrics.operatorDecisions.inc({ decision: command.decision, outcome: 'refused' });
    throw new ProblemError(PROBLEMS[error.kind], error.message, { cause: error });
  }
}

function refOf(request: Request): string {
  return String(request.params['executionRef']);
}
