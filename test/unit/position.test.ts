import { decimal, decimalText } from '../../src/domain/decimal';
import { EMPTY_POSITION, foldTrades, type Position, type Trade } from '../../src/domain/position';

const trade = (side: 'buy' | 'sell', quantity: string, price: string): Trade => ({
  side,
  quantity: decimal(quantity),
  price: decimal(price),
});

const shown = (position: Position) => ({
  quantity: decimalText(position.quantity),
  averagePrice: position.averagePrice === null ? null : decimalText(position.averagePrice),
  realisedProfit: decimalText(position.realisedProfit),
});

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
});
