import { orderRequestBody, orderRequestOf } from '../../src/contracts/order-request';
import type { OrderRequest } from '../../src/domain/order';
import { differingFields, requestHash } from '../../src/domain/request-hash';

const body = {
  clientOrderId: 'A-1',
  symbol: 'EURUSD',
  side: 'buy',
  quantity: '1',
  type: 'limit',
  limitPrice: '1.0845',
  timeInForce: 'gtc',
};

const requestOf = (change: Record<string, unknown> = {}, accountId = 'acme'): OrderRequest =>
  orderRequestOf(accountId, orderRequestBody.parse({ ...body, ...change }));

const hashOf = (change: Record<string, unknown> = {}): string => requestHash(requestOf(change));

describe('the request hash', () => {
  test.each(['1', '1.0', '1.00'])('quantity %s is one and the same request', (quantity) => {
    expect(hashOf({ quantity })).toBe(hashOf());
  });

  // https://github.com/aws-powertools/powertools-lambda-python/issues/638
  test('reordered members are the same request', () => {
    const reordered = Object.fromEntries(Object.entries(body).toReversed());
    expect(requestHash(orderRequestOf('acme', orderRequestBody.parse(reordered)))).toBe(hashOf());
  });

  test('one lot and ten are two requests', () => {
    expect(hashOf({ quantity: '10' })).not.toBe(hashOf());
  });

  test.each([
    { symbol: 'GBPUSD' },
    { side: 'sell' },
    { quantity: '2' },
    { type: 'market', limitPrice: undefined },
    { limitPrice: '1.0846' },
    { timeInForce: 'day' },
    { timeInForce: 'gtd', expireAt: '2030-01-01T00:00:00Z' },
  ])('%j makes another request', (change) => {
    expect(hashOf(change)).not.toBe(hashOf());
  });

  test('one instant in two time zones is the same request', () => {
    const utc = { timeInForce: 'gtd', expireAt: '2030-01-01T00:00:00Z' };
    expect(hashOf({ ...utc, expireAt: '2030-01-01T02:00:00.000+02:00' })).toBe(hashOf(utc));
  });

  // sha256sum of ["EURUSD","buy","1","limit","1.0845","gtc",null], by another program.
  test('stays what it was: a stored hash is compared for years', () => {
    expect(hashOf()).toBe('cc714563b8921327d36b9794415c81afb825ec30445a4cabf4c05765c867a2b3');
  });

  test('the differing fields are named', () => {
    expect(differingFields(requestOf(), requestOf({ quantity: '10', side: 'sell' }))).toEqual([
      'side',
      'quantity',
    ]);
  });
});
