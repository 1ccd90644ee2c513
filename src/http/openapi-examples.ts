/** The examples of the OpenAPI document; its linter holds them to the schemas. */

export const EXAMPLE_REQUEST = {
  clientOrderId: '2026-03-14-0001',
  symbol: 'EURUSD',
  side: 'buy',
  quantity: '10',
  type: 'limit',
  limitPrice: '1.0845',
  timeInForce: 'day',
};

export const EXAMPLE_ORDER = {
  accountId: 'acme',
  ...EXAMPLE_REQUEST,
  status: 'NEW',
  cumulativeQuantity: '0',
  averagePrice: null,
  overfilled: false,
  attention: null,
  acceptedAt: '2026-03-14T09:26:53.589793Z',
  updatedAt: '2026-03-14T09:26:53.611042Z',
};

export const EXAMPLE_PENDING = {
  clientOrderId: EXAMPLE_REQUEST.clientOrderId,
  outcome: 'pending',
  detail: 'the outcome is not known yet; sending the same body again is safe and returns the answer',
};

export const EXAMPLE_ORDER_EVENT = {
  sequence: 1,
  type: 'OPENED',
  detail: {},
  recordedAt: '2026-03-14T09:26:53.589793Z',
};

export const EXAMPLE_POSITION = {
  accountId: 'acme',
  symbol: 'EURUSD',
  quantity: '-4.5',
  averagePrice: '1.08442',
  realisedProfit: '12.75',
  updatedAt: '2026-03-14T09:31:17.020611Z',
};

export const EXAMPLE_POSITION_CHANGE = {
  sequence: 3,
  type: 'BUST',
  source: 'SIM',
  executionId: 'B-20260314-17',
  clientOrderId: EXAMPLE_REQUEST.clientOrderId,
  quantity: EXAMPLE_POSITION.quantity,
  averagePrice: EXAMPLE_POSITION.averagePrice,
  realisedProfit: EXAMPLE_POSITION.realisedProfit,
  recordedAt: EXAMPLE_POSITION.updatedAt,
};
