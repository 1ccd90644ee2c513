import { decimal } from '../../src/domain/decimal';
import { EMPTY_POSITION, foldTrades, type Trade } from '../../src/domain/position';
import { shown, tradeOf } from '../support/trades';

const trade = (side: 'buy' | 'sell', quantity: string, price: string): Trade =>
  tradeOf({ side, quantity: decimal(quantity), price: decimal(price) });

describe('a netting position', () => {
  test('an increase moves the average and realises nothing', () => {
    const position = foldTrades([trade('buy', '10', '1.1'), trade('buy', '30', '1.3')]);
    expect(shown(position)).toEqual({ quantity: '40', averagePrice: '1.25', realisedProfit: '0' });
  });

  test('a reduction keeps the average and realises profit', () => {
    const position = foldTrades([trade('buy', '10', '1.1'), trade('sell', '4', '1.2')]);
    expect(shown(position)).toEqual({ quantity: '6', averagePrice: '1.1', realisedProfit: '0.4' });
  });

  test('a flat position has no average', () => {
    const position = foldTrades([trade('buy', '10', '1.1'), trade('sell', '10', '1')]);
    expect(shown(position)).toEqual({ quantity: '0', averagePrice: null, realisedProfit: '-1' });
  });

  test('a trade through zero closes at a profit and opens the rest at its own price', () => {
    const position = foldTrades([trade('buy', '10', '1.1'), trade('sell', '25', '1.3')]);
    expect(shown(position)).toEqual({ quantity: '-15', averagePrice: '1.3', realisedProfit: '2' });
  });

  test('a short position earns when the price falls', () => {
    const position = foldTrades([trade('sell', '10', '2'), trade('buy', '4', '1.5')]);
    expect(shown(position)).toEqual({ quantity: '-6', averagePrice: '2', realisedProfit: '2' });
  });

  test('an average of zero is an average: a spread bought for nothing is not flat', () => {
    const position = foldTrades([trade('buy', '10', '0'), trade('sell', '5', '-1')]);
    expect(shown(position)).toEqual({ quantity: '5', averagePrice: '0', realisedProfit: '-5' });
  });

  test('no trades leave the empty position', () => {
    expect(foldTrades([])).toBe(EMPTY_POSITION);
  });

  test('gives what docs/positions.md says', () => {
    const steps: readonly (readonly [Trade, string, string | null, string])[] = [
      [trade('buy', '10', '1.1'), '10', '1.1', '0'],
      [trade('buy', '30', '1.3'), '40', '1.25', '0'],
      [trade('sell', '20', '1.4'), '20', '1.25', '3'],
      [trade('sell', '45', '1.45'), '-25', '1.45', '7'],
      [trade('buy', '25', '1.5'), '0', null, '5.75'],
    ];
    steps.forEach(([, quantity, averagePrice, realisedProfit], index) => {
      const position = foldTrades(steps.slice(0, index + 1).map(([each]) => each));
      expect(shown(position)).toEqual({ quantity, averagePrice, realisedProfit });
    });
    const rounded = [trade('buy', '1', '1'), trade('buy', '2', '1.1')];
    expect(shown(foldTrades(rounded)).averagePrice).toBe('1.066666666666666667');
    expect(shown(foldTrades([...rounded, trade('sell', '3', '1.2')])).realisedProfit).toBe(
      '0.399999999999999999',
    );
    const [second, third] = [trade('buy', '30', '1.3'), trade('sell', '20', '1.4')];
    const busted = { quantity: '10', averagePrice: '1.3', realisedProfit: '2' };
    expect(shown(foldTrades([second, third]))).toEqual(busted);
    const corrected = { quantity: '20', averagePrice: '1.35', realisedProfit: '1' };
    expect(shown(foldTrades([trade('buy', '10', '1.5'), second, third]))).toEqual(corrected);
  });
});
