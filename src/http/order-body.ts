import type { Request } from 'express';
import type { z } from 'zod';
import { orderRequestBody } from '../contracts/order-request';
import { readJsonBody } from './json-body';
import { parseOr400 } from './parse';
import { ProblemError } from './problem';

/**
 * The body of `POST /v1/orders`, from the raw bytes that the body parser read.
 * @throws {ProblemError} for everything that makes it another body than an order.
 */
export function readOrderBody(request: Request): z.output<typeof orderRequestBody> {
  const body = parseOr400(orderRequestBody, readJsonBody(request));
  const header = request.headers['idempotency-key'];
  if (header !== undefined && header !== body.clientOrderId) {
    throw new ProblemError(
      'IDEMPOTENCY_KEY_MISMATCH',
      'the Idempotency-Key header, when it is sent, must equal clientOrderId',
    );
  }
  return body;
}
