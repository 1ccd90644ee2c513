import { hash } from 'node:crypto';

/**
 * SHA-256 of a text, in lower-case hexadecimal. The one use of a Node builtin in this room: it is a pure function,
 * and a hash of our own would be worse. Workflow code must not reach this file (the sandbox has no builtins).
 */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex');
}
