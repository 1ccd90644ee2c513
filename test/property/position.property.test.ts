import fc from 'fast-check';
import { decimal, decimalText, type Decimal } from '../../src/domain/decimal';
import { EMPTY_POSITION, foldTrades, type Position, type Trade } from '../../src/domain/position';

const RUNS = 10_000;

const decimalOf = (min: bigint, max: bigint): fc.Arbitrary<Decimal> =>
  fc
    .record({ scaled: fc.bigInt({ min, max }), places: fc.integer({ min: 0, max: 18 }) })
    .map(({ scaled, places }) => {
      const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, '0');
      const point = digits.length - places;
      const text = places === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
      return decimal(scaled < 0n ? `-${text}` : text);
    });

const trade: fc.Arbitrary<Trade> = fc.record({
  side: fc.constantFrom('buy' as const, 'sell' as const),
  quantity: decimalOf(1n, 10n ** 12n),
  price: decimalOf(-(10n ** 9n), 10n ** 12n),
});
const trades = fc.array(trade, { maxLength: 30 });

const shown = (position: Position) => ({
  quantity: decimalText(position.quantity),
  averagePrice: position.averagePrice === null ? null : decimalText(position.averagePrice),
  realisedProfit: decimalText(position.realisedProfit),
});

const holds = (law: (sequence: Trade[]) => void): void => {
  fc.assert(fc.property(trades, law), { numRuns: RUNS });
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
      { numRuns: RUNS },
    );
  });

  test('its average lies within the prices that built it', () => {
    holds((sequence) => {
      const { averagePrice } = foldTrades(sequence);
      if (averagePrice === null) return;
      const prices = sequence.map(({ price }) => price).toSorted((a, b) => a.cmp(b));
      // One unit of the last place: the average is rounded, the prices are not.
      const ulp = decimal('0.000000000000000001');
      expect(averagePrice.gte(prices[0]!.minus(ulp)) && averagePrice.lte(prices.at(-1)!.plus(ulp))).toBe(
        true,
      );
    });
  });

  test('without averaging, money is conserved: realised profit plus open value is what was paid and received', () => {
    // Alternating full closes never divide, so the law holds to the last digit.
    fc.assert(
      fc.property(fc.array(fc.tuple(trade, decimalOf(-1000n, 10n ** 9n)), { maxLength: 15 }), (rounds) => {
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
      { numRuns: RUNS },
    );
  });

  test('no trades at all leave the empty position', () => {
    expect(foldTrades([])).toEqual(EMPTY_POSITION);
  });
});
