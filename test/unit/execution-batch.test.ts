import { executionOf, executionEvent, type ExecutionEvent } from '../../src/contracts/execution-event';
import { executionContentHash } from '../../src/domain/execution-hash';
import {
  backoffMs,
  MAX_EXECUTIONS_PER_SIGNAL,
  MAX_SIGNAL_BYTES,
  orderDeliveries,
  sortOutRepeats,
  type PlacedExecution,
} from '../../src/kafka/execution-batch';
import { anEvent } from '../support/execution-events';

function placed(offset: number, overrides: Partial<ExecutionEvent> = {}): PlacedExecution {
  const execution = executionOf(executionEvent.parse(anEvent({ executionId: `E-${offset}`, ...overrides })));
  return { offset: String(offset), execution, contentHash: executionContentHash(execution) };
}

const offsets = (executions: readonly PlacedExecution[]) => executions.map(({ offset }) => offset);

describe('sorting out repeats', () => {
  test('what was settled before is a repeat, the rest goes on', () => {
    const [first, second] = [placed(1), placed(2)];
    const { repeats, fresh } = sortOutRepeats([first, second], new Set([first]));
    expect([offsets(repeats), offsets(fresh)]).toEqual([['1'], ['2']]);
  });

  test('a repeat within the batch is dropped, and each content of an identity goes on once', () => {
    const batch = [
      placed(1, { executionId: 'E' }),
      placed(2, { executionId: 'E' }),
      placed(3, { executionId: 'E', price: '2' }),
      placed(4, { executionId: 'E', price: '2' }),
      placed(5, { executionId: 'E' }),
    ];
    const { repeats, fresh } = sortOutRepeats(batch, new Set());
    expect([offsets(repeats), offsets(fresh)]).toEqual([
      ['2', '4', '5'],
      ['1', '3'],
    ]);
  });

  test('one id under two types or two sources is two events', () => {
    const bust = { type: 'BUST', refExecutionId: 'F', quantity: undefined, price: undefined } as const;
    const batch = [
      placed(1, { executionId: 'E' }),
      placed(2, { executionId: 'E', source: 'OTHER' }),
      placed(3, { executionId: 'E', ...bust }),
    ];
    expect(sortOutRepeats(batch, new Set()).repeats).toEqual([]);
  });
});

describe('grouping by order', () => {
  test('the order within an order is kept, whatever lies between', () => {
    const batch = [1, 2, 3, 4, 5].map((n) => placed(n, { clientOrderId: n % 2 === 0 ? 'even' : 'odd' }));
    const deliveries = orderDeliveries(batch);
    expect(deliveries.map(({ key }) => key.clientOrderId)).toEqual(['odd', 'even']);
    expect(deliveries.map(({ signals }) => signals.map(offsets))).toEqual([[['1', '3', '5']], [['2', '4']]]);
  });

  test('orders of two accounts with one client order id are two orders', () => {
    const deliveries = orderDeliveries([placed(1), placed(2, { accountId: 'other' })]);
    expect(deliveries.map(({ key }) => key.accountId)).toEqual(['acme', 'other']);
  });

  test('a signal holds a bounded number of executions', () => {
    const batch = Array.from({ length: MAX_EXECUTIONS_PER_SIGNAL * 2 + 1 }, (_, n) => placed(n));
    const [delivery] = orderDeliveries(batch);
    expect(delivery?.signals.map((signal) => signal.length)).toEqual([100, 100, 1]);
    expect(delivery?.signals.flatMap(offsets)).toEqual(offsets(batch));
  });

  test('a signal holds a bounded number of bytes', () => {
    const batch = Array.from({ length: 99 }, (_, n) => placed(n, { reason: '€'.repeat(1_000) }));
    const signals = orderDeliveries(batch)[0]?.signals ?? [];
    expect(signals.length).toBe(2);
    for (const signal of signals) {
      const bytes = Buffer.byteLength(JSON.stringify(signal.map(({ execution }) => execution)));
      expect(bytes).toBeLessThan(MAX_SIGNAL_BYTES * 1.01);
    }
    expect(signals.flatMap(offsets)).toEqual(offsets(batch));
  });
});

test('the pause doubles up to its bound', () => {
  expect([0, 1, 2, 3, 100].map((attempt) => backoffMs(attempt, 1_000))).toEqual([
    200, 400, 800, 1_000, 1_000,
  ]);
});
