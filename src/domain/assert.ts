/** Raised when the program itself is wrong: never caused by input, always a reason to stop what is being done. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/**
 * States what must be true here. Used before every write that trusts an earlier check. A message that has to be put
 * together is given as a function: on a hot path it costs more than the check.
 * @throws {AssertionError} when the condition does not hold.
 */
export function assert(condition: boolean, message: string | (() => string)): asserts condition {
  if (!condition) throw new AssertionError(typeof message === 'string' ? message : message());
}
