import {
  isTerminal,
  nextOrderStatus,
  ORDER_STATUSES,
  ORDER_STATUS_TABLE,
  type OrderStatusEvent,
} from '../../src/domain/order-status';

const EVENTS = Object.keys(ORDER_STATUS_TABLE.PENDING_NEW) as OrderStatusEvent[];

describe('the order status table', () => {
  test('has a row for every status', () => {
    expect(Object.keys(ORDER_STATUS_TABLE).toSorted()).toEqual([...ORDER_STATUSES].toSorted());
  });

  test.each(ORDER_STATUSES.filter(isTerminal))('%s never changes again', (status) => {
    for (const event of EVENTS) expect(nextOrderStatus(status, event)).toBe(status);
  });

  test('a silence of the venue never ends an order', () => {
    for (const status of ORDER_STATUSES.filter((each) => !isTerminal(each))) {
      expect(isTerminal(nextOrderStatus(status, 'ACKNOWLEDGEMENT_OVERDUE'))).toBe(false);
    }
  });

  test('an acknowledgement that a fill overtook does not take the order back', () => {
    expect(nextOrderStatus('PARTIALLY_FILLED', 'ACKNOWLEDGED')).toBe('PARTIALLY_FILLED');
  });

  test('an unacknowledged order goes on as soon as the venue speaks', () => {
    expect(nextOrderStatus('UNACKNOWLEDGED', 'ACKNOWLEDGED')).toBe('NEW');
    expect(nextOrderStatus('UNACKNOWLEDGED', 'FILLED_WHOLLY')).toBe('FILLED');
    expect(nextOrderStatus('UNACKNOWLEDGED', 'REJECTED')).toBe('REJECTED');
  });
});
