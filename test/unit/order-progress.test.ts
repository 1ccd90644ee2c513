import { decimal, decimalText } from '../../src/domain/decimal';
import type { Execution, ExecutionType } from '../../src/domain/execution';
import { advanceOrder, amendOrder, type OrderProgress } from '../../src/domain/order-progress';

const anOrder = (change: Partial<OrderProgress> = {}): OrderProgress => ({
  status: 'NEW',
  quantity: decimal('10'),
  cumulativeQuantity: decimal('0'),
  cumulativeCost: decimal('0'),
  overfilled: false,
  attention: null,
  cancelRejections: 0,
  venueOrderId: null,
  ...change,
});

const anExecution = (type: ExecutionType, change: Partial<Execution> = {}): Execution => ({
  source: 'SIM',
  type,
  executionId: 'E1',
  accountId: 'acme',
  clientOrderId: 'A-1',
  symbol: 'EURUSD',
  side: 'buy',
  executedAt: '2026-03-14T09:26:53Z',
  ...change,
});

const fillOf = (quantity: string, price = '1.1') => ({ quantity: decimal(quantity), price: decimal(price) });

describe('an order', () => {
  test('that is filled in pieces adds them up exactly', () => {
    const partly = advanceOrder(anOrder(), anExecution('FILL'), fillOf('4', '1.1'));
    expect(partly.status).toBe('PARTIALLY_FILLED');
    const filled = advanceOrder(partly, anExecution('FILL', { executionId: 'E2' }), fillOf('6', '1.2'));
    expect(filled.status).toBe('FILLED');
    expect(decimalText(filled.cumulativeQuantity)).toBe('10');
    expect(decimalText(filled.cumulativeCost)).toBe('11.6');
    expect(filled.attention).toBeNull();
  });

  test('that is filled for more than it asked is booked, flagged and needs attention', () => {
    const order = advanceOrder(anOrder(), anExecution('FILL'), fillOf('11'));
    expect(order).toMatchObject({
      status: 'FILLED',
      overfilled: true,
      attention: 'more was filled than ordered',
    });
    expect(decimalText(order.cumulativeQuantity)).toBe('11');
  });

  test.each(['CANCELLED', 'REJECTED', 'EXPIRED', 'REFUSED'] as const)(
    'that is %s books a fill, keeps its status and needs attention',
    (status) => {
      const order = advanceOrder(anOrder({ status }), anExecution('FILL'), fillOf('4'));
      expect(order.status).toBe(status);
      expect(decimalText(order.cumulativeQuantity)).toBe('4');
      expect(order.attention).toBe(`FILL E1 arrived when the order was ${status}`);
    },
  );

  test('whose only fill is busted is working again', () => {
    const filled = advanceOrder(anOrder(), anExecution('FILL'), fillOf('4'));
    const order = amendOrder(filled, { quantity: decimal('-4'), cost: decimal('-4.4') });
    expect(order.status).toBe('NEW');
    expect(decimalText(order.cumulativeCost)).toBe('0');
  });

  test('that was filled stays filled when a fill is busted, and needs attention', () => {
    const filled = advanceOrder(anOrder(), anExecution('FILL'), fillOf('10'));
    const order = amendOrder(filled, { quantity: decimal('-10'), cost: decimal('-11') });
    expect(order).toMatchObject({
      status: 'FILLED',
      attention: 'a fill was amended after the order was filled',
    });
    expect(decimalText(order.cumulativeQuantity)).toBe('0');
  });

  test('whose fill is corrected counts what it became', () => {
    const filled = advanceOrder(anOrder(), anExecution('FILL'), fillOf('4'));
    const order = amendOrder(filled, { quantity: decimal('-1.5'), cost: decimal('0.6') });
    expect(decimalText(order.cumulativeQuantity)).toBe('2.5');
    expect(decimalText(order.cumulativeCost)).toBe('5');
    expect(order).toMatchObject({ status: 'PARTIALLY_FILLED', attention: null });
  });

  test('that was never acknowledged is not acknowledged by a change of nothing', () => {
    const order = amendOrder(anOrder({ status: 'PENDING_NEW' }), {
      quantity: decimal('0'),
      cost: decimal('0'),
    });
    expect(order.status).toBe('PENDING_NEW');
  });

  test('remembers the first reason for attention', () => {
    const order = advanceOrder(anOrder({ attention: 'first' }), anExecution('FILL'), fillOf('11'));
    expect(order.attention).toBe('first');
  });

  test('goes on as it was when the venue refuses to cancel it, and counts that', () => {
    const partly = anOrder({ status: 'PARTIALLY_FILLED' });
    const order = advanceOrder(partly, anExecution('CANCEL_REJECTED'));
    expect(order).toEqual({ ...partly, cancelRejections: 1 });
  });

  test('that is filled is not surprised by the refusal of a cancel', () => {
    const order = advanceOrder(anOrder({ status: 'FILLED' }), anExecution('CANCEL_REJECTED'));
    expect(order).toMatchObject({ status: 'FILLED', attention: null });
  });

  test('takes over the id that the venue gave it', () => {
    const order = advanceOrder(anOrder(), anExecution('NEW', { venueOrderId: 'V-9' }));
    expect(order.venueOrderId).toBe('V-9');
  });
});
