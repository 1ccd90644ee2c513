import type { Request } from 'express';
import { ProblemError } from './problem';
import { parseStrictJson } from './strict-json';

/** Parameters are allowed, as client libraries add some; a charset other than UTF-8 is not. */
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*"?([^"; \t]*)/i;

/**
 * The JSON of a request, from the raw bytes that the body parser read.
 * @throws {ProblemError} UNSUPPORTED_MEDIA_TYPE or MALFORMED_JSON
 */
export function readJsonBody(request: Request): unknown {
  return parseStrictJson(jsonBytes(request));
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
