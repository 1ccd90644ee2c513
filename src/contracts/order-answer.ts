import type { OrderRequest } from '../domain/order';
import { problemOf, type RefusalCode } from './error-codes';

/** The answer to a submission, before it is stored: a status code and a JSON text. */
export interface Answer {
  readonly statusCode: 201 | 409;
  readonly body: string;
}

/** 201: the order as it was at the moment of opening. Later repeats get this text, however the order has gone on. */
export function openedAnswer(request: OrderRequest, acceptedAt: string): Answer {
  const { accountId, ...fields } = request;
  const body = {
    accountId,
    ...fields,
    status: 'PENDING_NEW',
    cumulativeQuantity: '0',
    averagePrice: null,
    overfilled: false,
    attention: null,
    acceptedAt,
    updatedAt: acceptedAt,
  };
  return { statusCode: 201, body: JSON.stringify(body) };
}

/** 409: a refusal by a business rule, which is the first answer of its key like any other. */
export function refusedAnswer(
  request: OrderRequest,
  refusal: { readonly code: RefusalCode; readonly detail: string; readonly facts?: Record<string, unknown> },
): Answer {
  const problem = problemOf(refusal.code, refusal.detail, {
    clientOrderId: request.clientOrderId,
    ...refusal.facts,
  });
  return { statusCode: 409, body: JSON.stringify(problem) };
}
