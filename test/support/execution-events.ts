import { orderWorkflowId } from '../../src/domain/ids';
import type { ExecutionEvent } from '../../src/contracts/execution-event';

/** A valid event as a bridge would publish it; override what a test is about. */
export function anEvent(overrides: Partial<ExecutionEvent> = {}): ExecutionEvent {
  return {
    source: 'SIM',
    type: 'FILL',
    executionId: 'E-1',
    accountId: 'acme',
    clientOrderId: 'order-1',
    symbol: 'EURUSD',
    side: 'buy',
    quantity: '1',
    price: '1.0845',
    executedAt: '2026-03-14T09:26:53.589Z',
    ...overrides,
  };
}

/** An event without the fields that only trades carry. */
export function anAcknowledgement(overrides: Partial<ExecutionEvent> = {}): ExecutionEvent {
  const { quantity, price, ...event } = anEvent({ type: 'NEW', ...overrides });
  return event;
}

/** The message of an event; `key` and `value` may be replaced by anything. */
export function aMessage(
  event: ExecutionEvent,
  overrides: { readonly key?: Buffer | null; readonly value?: Buffer | null } = {},
): { readonly key: Buffer | null; readonly value: Buffer | null } {
  return {
    key: Buffer.from(orderWorkflowId(event)),
    value: Buffer.from(JSON.stringify(event)),
    ...overrides,
  };
}
