import type { Request } from 'express';
import type { z } from 'zod';
import { orderRequestBody } from '../contracts/order-request';
import { parseOr400 } from './parse';
import { ProblemError } from './problem';
import { parseStrictJson } from './strict-json';

/** Parameters are allowed, as client libraries add some; a charset other than UTF-8 is not. */
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*"?([^"; \t]*)/i;

/**
 * The body of `POST /v1/orders`, from the raw bytes that the body parser read.
 * @throws {ProblemError} for everything that makes it another body than an order.
 */
export function readOrderBody(request: Request): z.output<typeof orderRequestBody> {
  const body = parseOr400(orderRequestBody, parseStrictJson(jsonBytes(request)));
  const header = request.headers['idempotency-key'];
  if (header !== undefined && header !== body.clientOrderId) {
    throw new ProblemError(
      'IDEMPOTENCY_KEY_MISMATCH',
      'the Idempotency-Key header, when it is sent, must equal clientOrderId',
    );
  }
  return body;
}

function jsonBytes(request: Request): Buffer {
  const contentType = request.headers['content-type'] ?? '';
  const charset = CHARSET.exec(contentType)?.[1] ?? 'utf-8';
  if (!JSON_TYPE.test(contentType) || charset.toLowerCase() !== 'utf-8') {
    throw new ProblemError(
      'UNSUPPORTED_MEDIA_TYPE',
      'send the body in UTF-8, as "Content-Type: application/json"',
    );
  }
  const body: unknown = request.body;
  if (Buffer.isBuffer(body) && body.length > 0) return body;
  throw new ProblemError('MALFORMED_JSON', 'the body is empty');
}
