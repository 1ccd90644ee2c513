import {
  isClientOrderId,
  lateExecutionsWorkflowId,
  orderWorkflowId,
  parseOrderWorkflowId,
} from '../../src/domain/ids';

describe('order ids', () => {
  test.each(['1', 'a:b:c', 'order:x', '%2F', '/../', '!~', 'x'.repeat(128)])(
    '%s survives the way through a workflow id',
    (clientOrderId) => {
      const key = { accountId: 'acme-1', clientOrderId };
      expect(parseOrderWorkflowId(orderWorkflowId(key))).toEqual(key);
    },
  );

  test('two accounts with one client order id have two workflow ids', () => {
    expect(orderWorkflowId({ accountId: 'a', clientOrderId: 'x' })).not.toBe(
      orderWorkflowId({ accountId: 'b', clientOrderId: 'x' }),
    );
  });

  test('an order and its late executions have two workflow ids', () => {
    const key = { accountId: 'a', clientOrderId: 'x' };
    expect(lateExecutionsWorkflowId(key)).not.toBe(orderWorkflowId(key));
    expect(parseOrderWorkflowId(lateExecutionsWorkflowId(key))).toBeUndefined();
  });

  test.each(['', ' ', 'a b', 'ä', '\n', '\u007f', '.', '..', 'x'.repeat(129)])(
    '%j is no client order id',
    (text) => {
      expect(isClientOrderId(text)).toBe(false);
    },
  );

  test.each(['order:', 'order:a', 'order::x', 'order:a b:x', 'x', 'order:a:', 'order:a: '])(
    '%j names no order',
    (text) => {
      expect(parseOrderWorkflowId(text)).toBeUndefined();
    },
  );

  test('an account id that could be mistaken for two parts never becomes a workflow id', () => {
    expect(() => orderWorkflowId({ accountId: 'a:b', clientOrderId: 'x' })).toThrow('bad account id');
  });
});
