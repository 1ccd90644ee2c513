import fc from 'fast-check';
import { decimal, decimalText, ZERO } from '../../src/domain/decimal';
import { applyTrade, EMPTY_POSITION, foldTrades, type Trade } from '../../src/domain/position';
import { aTrade, decimalOf, LAW_RUNS, shown } from '../support/trades';

const trades = fc.array(aTrade, { maxLength: 30 });

const holds = (law: (sequence: Trade[]) => void): void => {
  fc.assert(fc.property(trades, law), { numRuns: LAW_RUNS });
};

describe('the laws of a position', () => {
  test('its quantity is the signed sum of its trades, exactly', () => {
    holds((sequence) => {
      const sum = sequence.reduce(
        (total, { side, quantity }) => (side === 'buy' ? total.plus(quantity) : total.minus(quantity)),
        decimal('0'),
      );
      expect(decimalText(foldTrades(sequence).quantity)).toBe(decimalText(sum));
    });
  });

  test('it has an average exactly when it is not flat', () => {
    holds((sequence) => {
      const position = foldTrades(sequence);
      expect(position.averagePrice === null).toBe(position.quantity.eq('0'));
    });
  });

  test('folding on from any point gives what folding everything gives', () => {
    fc.assert(
      fc.property(trades, fc.nat(), (sequence, at) => {
        const cut = sequence.length === 0 ? 0 : at % sequence.length;
        const before = foldTrades(sequence.slice(0, cut));
        expect(shown(foldTrades(sequence.slice(cut), before))).toEqual(shown(foldTrades(sequence)));
      }),
      { numRuns: LAW_RUNS },
    );
  });

  test('its average lies within the prices that built it, to the last place', () => {
    holds((sequence) => {
      let position = EMPTY_POSITION;
      let prices: Trade['price'][] = [];
      for (const trade of sequence) {
        const before = position.quantity.cmp(ZERO);
        position = applyTrade(position, trade);
        const grows = before === (trade.side === 'buy' ? 1 : -1);
        const opened = position.quantity.cmp(ZERO) !== before;
        if (opened) prices = [trade.price];
        else if (grows) prices.push(trade.price);
        const { averagePrice } = position;
        if (averagePrice === null) continue;
        // No tolerance: prices have at most 18 places themselves, and rounding never passes such a number.
        expect(prices.some((price) => price.lte(averagePrice))).toBe(true);
        expect(prices.some((price) => price.gte(averagePrice))).toBe(true);
      }
    });
  });

  test('without averaging, money is conserved: realised profit plus open value is what was paid and received', () => {
    // Alternating full closes never divide, so the law holds to the last digit.
    fc.assert(
      fc.property(fc.array(fc.tuple(aTrade, decimalOf(-1000n, 10n ** 9n)), { maxLength: 15 }), (rounds) => {
        const sequence = rounds.flatMap(([open, price]): Trade[] => [
          open,
          { side: open.side === 'buy' ? 'sell' : 'buy', quantity: open.quantity, price },
        ]);
        const cash = sequence.reduce(
          (total, { side, quantity, price }) =>
            side === 'buy' ? total.minus(quantity.times(price)) : total.plus(quantity.times(price)),
          decimal('0'),
        );
        const position = foldTrades(sequence);
        expect(shown(position)).toEqual({
          quantity: '0',
          averagePrice: null,
          realisedProfit: decimalText(cash),
        });
      }),
      { numRuns: LAW_RUNS },
    );
  });

  test('no trades at all leave the empty position', () => {
    expect(foldTrades([])).toEqual(EMPTY_POSITION);
  });
});
