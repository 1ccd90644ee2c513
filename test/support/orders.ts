import { randomUUID } from 'node:crypto';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import type { Execution, ExecutionType } from '../../src/domain/execution';
import type { OrderRequest } from '../../src/domain/order';
import { requestHash } from '../../src/domain/request-hash';

/** A valid command for an order that no other test has. */
export function anOpenOrder(
  change: Partial<OrderRequest> = {},
  acceptBy = new Date(Date.now() + 10_000).toISOString(),
): OpenOrderCommand {
  const request: OrderRequest = {
    accountId: `acc-${randomUUID().slice(0, 8)}`,
    clientOrderId: randomUUID(),
    symbol: 'EURUSD',
    side: 'buy',
    quantity: '10',
    type: 'market',
    timeInForce: 'gtc',
    ...change,
  };
  return { request, requestHash: requestHash(request), requestId: randomUUID(), acceptBy };
}

/** A valid execution of that order; a FILL carries a trade. */
export function anExecutionOf(
  { request }: OpenOrderCommand,
  type: ExecutionType,
  change: Partial<Execution> = {},
): Execution {
  const { accountId, clientOrderId, symbol, side } = request;
  return {
    source: 'TEST',
    type,
    executionId: randomUUID(),
    accountId,
    clientOrderId,
    symbol,
    side,
    executedAt: '2026-03-14T09:26:53Z',
    ...(type === 'FILL' ? { quantity: '1', price: '1.1' } : {}),
    ...change,
  };
}
