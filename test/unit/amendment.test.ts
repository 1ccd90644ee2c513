import { effectiveTrade, type Amendment } from '../../src/domain/amendment';
import { decimal, decimalText } from '../../src/domain/decimal';

const reported = { quantity: decimal('100'), price: decimal('1.1') };

const aBust = (change: Partial<Amendment> = {}): Amendment => ({
  executionId: 'B1',
  refExecutionId: 'E1',
  type: 'BUST',
  executedAt: '2026-03-14T10:00:00Z',
  ...change,
});

const aCorrection = (quantity: string, change: Partial<Amendment> = {}): Amendment => ({
  executionId: 'C1',
  refExecutionId: 'E1',
  type: 'CORRECT',
  quantity: decimal(quantity),
  price: decimal('1.2'),
  executedAt: '2026-03-14T10:00:00Z',
  ...change,
});

const shown = (amendments: Amendment[]) => {
  const trade = effectiveTrade(reported, amendments);
  return {
    quantity: decimalText(trade.quantity),
    price: decimalText(trade.price),
    amendedBy: trade.amendedBy,
  };
};

describe('a fill', () => {
  test('without amendments counts as reported', () => {
    expect(shown([])).toEqual({ quantity: '100', price: '1.1', amendedBy: null });
  });

  test('that is busted counts for nothing', () => {
    expect(shown([aBust()])).toEqual({ quantity: '0', price: '1.1', amendedBy: 'B1' });
  });

  // https://github.com/erdewit/ib_insync/issues/364
  test('that is corrected counts as corrected', () => {
    expect(shown([aCorrection('80')])).toEqual({ quantity: '80', price: '1.2', amendedBy: 'C1' });
  });

  test('counts as the end of a chain of corrections says, in whatever order they arrived', () => {
    const first = aCorrection('80');
    const second = aCorrection('70', {
      executionId: 'C2',
      refExecutionId: 'C1',
      executedAt: '2026-03-14T09:00:00Z',
    });
    expect(shown([first, second])).toEqual({ quantity: '70', price: '1.2', amendedBy: 'C2' });
    expect(shown([second, first])).toEqual(shown([first, second]));
  });

  test('that is both corrected and busted is busted', () => {
    const later = aCorrection('80', { executedAt: '2026-03-14T11:00:00Z' });
    expect(shown([aBust(), later]).amendedBy).toBe('B1');
    expect(shown([later, aBust()]).amendedBy).toBe('B1');
  });

  test('whose bust is itself corrected counts as the correction', () => {
    const revived = aCorrection('90', { executionId: 'C2', refExecutionId: 'B1' });
    expect(shown([aBust(), revived])).toMatchObject({ quantity: '90', amendedBy: 'C2' });
  });
});
