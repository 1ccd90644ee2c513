import { randomUUID } from 'node:crypto';
import type { OpenOrderCommand, StoredAnswer } from '../contracts/order-messages';
import { recordRefusal } from '../db/open-order';
import { findOrder, findSubmission, type Submission } from '../db/orders';
import type { Pool } from '../db/pool';
import type { OrderKey } from '../domain/ids';
import type { OrderRequest } from '../domain/order';
import { differingFields, requestHash, type HashedField } from '../domain/request-hash';
import type { OrderGateway } from '../temporal/order-gateway';
import { answerFromOrder } from './order-resource';

/** How soon the key's row is first read: soon when the answer may come from another process, late when it is told here. */
const FIRST_POLL_MS = { elsewhere: 25, here: 250 } as const;
const MAX_POLL_MS = 250;

/** What a wait gives when nobody waits for its outcome any more. */
const GONE = 'gone';

export interface SubmitOrderDeps {
  readonly pool: Pool;
  readonly gateway: OrderGateway;
  readonly acceptWindowMs: number;
  readonly answerDeadlineMs: number;
}

export type SubmitOutcome =
  /** The first answer of the key; `replayed` for everyone but the one whose request was first. */
  | {
      readonly kind: 'answered';
      readonly statusCode: number;
      readonly body: string;
      readonly replayed: boolean;
    }
  /** The key holds another request. */
  | { readonly kind: 'reused'; readonly fields: readonly HashedField[] }
  /** Not known within the deadline. Sending the same body again is safe. */
  | { readonly kind: 'pending' };

/**
 * Look first, then start or attach, then wait for the answer that the transaction decided.
 * `gone` is asked only when there is something to wait for; it resolves when the client has left. The order goes on.
 * @throws {TemporalUnavailableError} for a new key, when Temporal does not accept it.
 */
export async function submitOrder(
  deps: SubmitOrderDeps,
  request: OrderRequest,
  gone: () => Promise<void>,
): Promise<SubmitOutcome> {
  const deadlineMs = performance.now() + deps.answerDeadlineMs;
  const hash = requestHash(request);
  const submission = await look(deps.pool, request);
  const known = await knownOutcome(deps, request, hash, submission);
  if (known !== undefined) return known;

  const command: OpenOrderCommand = {
    request,
    requestHash: hash,
    requestId: randomUUID(),
    acceptBy: new Date(Date.parse(submission.databaseTime) + deps.acceptWindowMs).toISOString(),
  };
  const expectation = deps.gateway.expectAnswer(request);
  try {
    const run = await deps.gateway.start(command);
    if (run === 'closed') return await closedOutcome(deps, command);
    const news = Promise.race([expectation.answer, gone().then((): typeof GONE => GONE)]);
    return await awaitOutcome(deps, command, { news, deadlineMs, firstPollMs: FIRST_POLL_MS[run] });
  } finally {
    expectation.release();
  }
}

/**
 * What is stored under a key. The key's row and the order are read one after the other, and an order that is being
 * opened commits both at once: an order without its key is looked at once more, so that it is known to be a purged one.
 */
async function look(pool: Pool, key: OrderKey): Promise<Submission> {
  const submission = await findSubmission(pool, key);
  const half = submission.answer === undefined && submission.order !== undefined;
  return half ? findSubmission(pool, key) : submission;
}

/** What the key already holds, or after its row is purged the order as it stands; undefined for a new key. */
async function knownOutcome(
  deps: SubmitOrderDeps,
  request: OrderRequest,
  hash: string,
  { answer, order }: Submission,
): Promise<SubmitOutcome | undefined> {
  if (answer !== undefined) {
    if (answer.requestHash !== hash) return reused(deps, request);
    return { kind: 'answered', statusCode: answer.statusCode, body: answer.body, replayed: true };
  }
  if (order === undefined) return undefined;
  if (order.requestHash !== hash) return reused(deps, request);
  return { kind: 'answered', ...answerFromOrder(order), replayed: true };
}

async function outcomeOf(
  deps: SubmitOrderDeps,
  command: OpenOrderCommand,
  answer: StoredAnswer,
): Promise<SubmitOutcome> {
  if (answer.requestHash !== command.requestHash) return reused(deps, command.request);
  const { statusCode, body } = answer;
  return { kind: 'answered', statusCode, body, replayed: answer.requestId !== command.requestId };
}

async function reused({ pool }: SubmitOrderDeps, request: OrderRequest): Promise<SubmitOutcome> {
  const order = await findOrder(pool, request);
  if (order === undefined) return { kind: 'reused', fields: [] };
  const { limitPrice, expireAt, ...rest } = order;
  const first = {
    ...rest,
    ...(limitPrice === null ? {} : { limitPrice }),
    ...(expireAt === null ? {} : { expireAt }),
  };
  return { kind: 'reused', fields: differingFields(first, request) };
}

/**
 * The run has ended. It has left its answer, or it was ended by hand before it could: then the key is refused for good
 * as soon as nothing can open it any more, so that no key hangs for ever.
 */
async function closedOutcome(deps: SubmitOrderDeps, command: OpenOrderCommand): Promise<SubmitOutcome> {
  const { request, requestHash: hash } = command;
  const submission = await look(deps.pool, request);
  const known = await knownOutcome(deps, request, hash, submission);
  if (known !== undefined) return known;
  const acceptBy = await deps.gateway.closedRunAcceptBy(request);
  const over = acceptBy === undefined || Date.parse(submission.databaseTime) > Date.parse(acceptBy);
  if (!over) return { kind: 'pending' };
  const answer = await recordRefusal(deps.pool, command, {
    code: 'ABANDONED',
    detail: 'the run of this order was ended before it opened the order; send it under a new clientOrderId',
  });
  if (answer !== undefined) return outcomeOf(deps, command, answer);
  const opened = await look(deps.pool, request);
  return (await knownOutcome(deps, request, hash, opened)) ?? { kind: 'pending' };
}

interface Wait {
  /** The answer, told in this process right after the commit; or that the client has left. */
  readonly news: Promise<StoredAnswer | typeof GONE>;
  /** The monotonic clock. */
  readonly deadlineMs: number;
  readonly firstPollMs: number;
}

/** Told, or read from the key's row, whichever comes first. */
async function awaitOutcome(
  deps: SubmitOrderDeps,
  command: OpenOrderCommand,
  { news, deadlineMs, firstPollMs }: Wait,
): Promise<SubmitOutcome> {
  const { request, requestHash: hash } = command;
  let pauseMs = firstPollMs;
  for (;;) {
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0) return { kind: 'pending' };
    const told = await withinMs(news, Math.min(pauseMs, leftMs));
    if (told === GONE) return { kind: 'pending' };
    if (told !== undefined) return outcomeOf(deps, command, told);
    const submission = await look(deps.pool, request);
    if (submission.answer !== undefined) return outcomeOf(deps, command, submission.answer);
    const known = await knownOutcome(deps, request, hash, submission);
    if (known !== undefined) return known;
    pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS);
  }
}

async function withinMs<T>(promise: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const pause = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, undefined);
  });
  try {
    return await Promise.race([promise, pause]);
  } finally {
    clearTimeout(timer);
  }
}
