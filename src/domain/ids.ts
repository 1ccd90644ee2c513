import { assert } from './assert';

/** What names a logical order: unique per account, chosen by the client. */
export interface OrderKey {
  readonly accountId: string;
  readonly clientOrderId: string;
}

/** Account ids never contain a colon, so that a workflow id can be taken apart again. */
export const ACCOUNT_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** Printable ASCII without the space. */
export const CLIENT_ORDER_ID = /^[\x21-\x7e]{1,128}$/;
/** Upper case, as venues write them: `EURUSD`, `BTC-USD`, `EUR/USD`, `ESZ6`. */
export const SYMBOL = /^[A-Z0-9][A-Z0-9._/-]{0,31}$/;

/**
 * True for an id a client may choose. `.` and `..` are left out: every URL library rewrites a path that contains
 * them, so such an order could be opened but never read again.
 */
export function isClientOrderId(text: string): boolean {
  return CLIENT_ORDER_ID.test(text) && text !== '.' && text !== '..';
}

const ORDER_PREFIX = 'order:';
const LATE_PREFIX = 'late-executions:';

/** The workflow id of an order's run, and the Kafka key of everything about it. */
export function orderWorkflowId(key: OrderKey): string {
  assertKey(key);
  return `${ORDER_PREFIX}${key.accountId}:${key.clientOrderId}`;
}

/** The workflow id of the run that books executions of an order whose own run has closed or never was. */
export function lateExecutionsWorkflowId(key: OrderKey): string {
  assertKey(key);
  return `${LATE_PREFIX}${key.accountId}:${key.clientOrderId}`;
}

/** The inverse of `orderWorkflowId`; undefined for any other text. */
export function parseOrderWorkflowId(workflowId: string): OrderKey | undefined {
  if (!workflowId.startsWith(ORDER_PREFIX)) return undefined;
  const rest = workflowId.slice(ORDER_PREFIX.length);
  const colon = rest.indexOf(':');
  const accountId = rest.slice(0, Math.max(colon, 0));
  const clientOrderId = rest.slice(colon + 1);
  if (!ACCOUNT_ID.test(accountId) || !isClientOrderId(clientOrderId)) return undefined;
  return { accountId, clientOrderId };
}

function assertKey(key: OrderKey): void {
  assert(ACCOUNT_ID.test(key.accountId), () => `bad account id ${JSON.stringify(key.accountId)}`);
  assert(
    isClientOrderId(key.clientOrderId),
    () => `bad client order id ${JSON.stringify(key.clientOrderId)}`,
  );
}
