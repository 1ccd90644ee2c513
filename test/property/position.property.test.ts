import fc from 'fast-check';
import { decimalText, ZERO } from '../../src/domain/decimal';
import { applyTrade, EMPTY_POSITION, foldTrades, type Trade } from '../../src/domain/position';
import { foldReported } from '../support/independent-fold';
import {
  aReportedTrade,
  aTrade,
  decimalOf,
  LAW_RUNS,
  shown,
  tradeOf,
  type ReportedTrade,
} from '../support/trades';

const trades = fc.array(aTrade, { maxLength: 30 });

const signOf = (quantity: bigint): number => (quantity > 0n ? 1 : 0) - (quantity < 0n ? 1 : 0);

const holds = (law: (sequence: Trade[]) => void): void => {
  fc.assert(fc.property(trades, law), { numRuns: LAW_RUNS });
};

describe('the laws of a position', () => {
  test('its quantity is the signed sum of its trades, exactly', () => {
    fc.assert(
      fc.property(fc.array(aReportedTrade, { maxLength: 30 }), (sequence) => {
        const sum = sequence.reduce(
          (total, { side, quantity }) => (side === 'buy' ? total.plus(quantity) : total.minus(quantity)),
          ZERO,
        );
        expect(shown(foldTrades(sequence.map(tradeOf))).quantity).toBe(decimalText(sum));
      }),
      { numRuns: LAW_RUNS },
    );
  });

  test('it is what a fold in decimals of any length gives, which splits each trade into what it closes and what it opens', () => {
    fc.assert(
      fc.property(fc.array(aReportedTrade, { maxLength: 30 }), (sequence) => {
        expect(shown(foldTrades(sequence.map(tradeOf)))).toEqual(foldReported(sequence));
      }),
      { numRuns: LAW_RUNS },
    );
  });

  test('it has an average exactly when it is not flat', () => {
    holds((sequence) => {
      const position = foldTrades(sequence);
      expect(position.averagePrice === null).toBe(position.quantity === 0n);
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
        const before = signOf(position.quantity);
        position = applyTrade(position, trade);
        const grows = before === signOf(trade.quantity);
        const opened = signOf(position.quantity) !== before;
        if (opened) prices = [trade.price];
        else if (grows) prices.push(trade.price);
        const { averagePrice } = position;
        if (averagePrice === null) continue;
        // No tolerance: prices have at most 18 places themselves, and rounding never passes such a number.
        expect(prices.some((price) => price <= averagePrice)).toBe(true);
        expect(prices.some((price) => price >= averagePrice)).toBe(true);
      }
    });
  });

  test('without averaging, money is conserved: realised profit plus open value is what was paid and received', () => {
    // Alternating full closes never divide, so the law holds to the last digit.
    fc.assert(
      fc.property(
        fc.array(fc.tuple(aReportedTrade, decimalOf(-1000n, 10n ** 9n)), { maxLength: 15 }),
        (rounds) => {
          const sequence = rounds.flatMap(([open, price]): ReportedTrade[] => [
            open,
            { side: open.side === 'buy' ? 'sell' : 'buy', quantity: open.quantity, price },
          ]);
          const cash = sequence.reduce(
            (total, { side, quantity, price }) =>
              side === 'buy' ? total.minus(quantity.times(price)) : total.plus(quantity.times(price)),
            ZERO,
          );
          const position = foldTrades(sequence.map(tradeOf));
          expect(shown(position)).toEqual({
            quantity: '0',
            averagePrice: null,
            realisedProfit: decimalText(cash),
          });
        },
      ),
      { numRuns: LAW_RUNS },
    );
  });

  test('no trades at all leave the empty position', () => {
    expect(foldTrades([])).toEqual(EMPTY_POSITION);
  });
});
