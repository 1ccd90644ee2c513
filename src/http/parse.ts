import type { Request } from 'express';
import { z } from 'zod';
import { fieldFaults, type FieldFault } from '../contracts/fields';
import { ProblemError } from './problem';

/** @throws {ProblemError} INVALID_REQUEST with every field at fault */
export function parseOr400<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidRequest(parsed.error.issues.flatMap(faultsOf));
}

/** A name that is not known is a fault of that name, not of the whole. */
function faultsOf(issue: z.core.$ZodIssue): FieldFault[] {
  if (issue.code !== 'unrecognized_keys') return fieldFaults(new z.ZodError([issue]));
  return issue.keys.map((key) => ({
    field: [...issue.path, key].map(String).join('.'),
    message: 'is not known here',
  }));
}

export function invalidRequest(errors: readonly FieldFault[]): ProblemError {
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join('; ');
  return new ProblemError('INVALID_REQUEST', detail, { facts: { errors } });
}

/**
 * The query of a request; a parameter that is not known is refused, since a misspelt filter would list too much.
 * @throws {ProblemError} INVALID_REQUEST
 */
export function parseQuery<T>(schema: z.ZodType<T>, request: Request): T {
  return parseOr400(schema, request.query);
}

const NO_PARAMETERS = z.strictObject({});

/** @throws {ProblemError} INVALID_REQUEST when there is a query parameter at all */
export function refuseQuery(request: Request): void {
  if (request.url.includes('?')) parseQuery(NO_PARAMETERS, request);
}
