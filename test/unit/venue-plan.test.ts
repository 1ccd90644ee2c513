import { executionEvent } from '../../src/contracts/execution-event';
import { venueBehaviour, type VenueBehaviour } from '../../src/venue/behaviour';
import { cutIntoPieces, planOrder, type OrderPlan } from '../../src/venue/venue-plan';
import { aCommand } from '../support/venue-commands';

const receivedAtMs = Date.UTC(2026, 2, 14, 9, 26, 53, 589);

function plan(behaviour: Partial<VenueBehaviour> = {}, price: string | undefined = '1.0845'): OrderPlan {
  const input = { command: aCommand(), source: 'SIM', price, receivedAtMs };
  return planOrder({ ...input, behaviour: { ...venueBehaviour.parse({}), ...behaviour } });
}

const eventsOf = ({ steps }: OrderPlan) =>
  steps.flatMap(({ executions }) => executions.map(({ event }) => event));
const typesOf = (planned: OrderPlan) => eventsOf(planned).map(({ type }) => type);

describe('the plan of an order', () => {
  test('an order is acknowledged and filled in pieces that add up', () => {
    const planned = plan({ pieces: 3 });
    expect(typesOf(planned)).toEqual(['NEW', 'FILL', 'FILL', 'FILL']);
    expect(eventsOf(planned).map(({ quantity }) => quantity)).toEqual([undefined, '3.33', '3.33', '3.34']);
    expect(planned.staysOpen).toBe(false);
  });

  test('every planned execution fits the contract', () => {
    for (const planned of [plan({ pieces: 3 }), plan({ order: 'reject' }), plan({}, undefined)]) {
      for (const event of eventsOf(planned)) expect(executionEvent.safeParse(event).error).toBeUndefined();
    }
  });

  test('the same command gives the same executions again', () => {
    expect(plan({ pieces: 3 })).toEqual(plan({ pieces: 3 }));
    expect(new Set(eventsOf(plan({ pieces: 3 })).map(({ executionId }) => executionId)).size).toBe(4);
  });

  test('a partly filled order stays open', () => {
    const planned = plan({ pieces: 4, filledPieces: 1 });
    expect([typesOf(planned), planned.staysOpen]).toEqual([['NEW', 'FILL'], true]);
  });

  test('a resting order is acknowledged and nothing more', () => {
    expect([typesOf(plan({ order: 'rest' })), plan({ order: 'rest' }).staysOpen]).toEqual([['NEW'], true]);
  });

  test('a dropped acknowledgement has happened but is not published', () => {
    const [acknowledgement, fill] = plan({ acknowledge: false }).steps.flatMap(
      ({ executions }) => executions,
    );
    expect([acknowledgement?.published, fill?.published]).toEqual([false, true]);
  });

  test('in reverse the last comes first, when all have happened', () => {
    const planned = plan({ pieces: 2, reverse: true, acknowledgeAfterMs: 10, fillAfterMs: 20 });
    expect(planned.steps.map(({ afterMs }) => afterMs)).toEqual([50]);
    expect(typesOf(planned)).toEqual(['FILL', 'FILL', 'NEW']);
    expect(eventsOf(planned).map(({ executedAt }) => executedAt.slice(-4))).toEqual(['639Z', '619Z', '599Z']);
  });

  test('without a price an order is rejected with the reason', () => {
    const input = { command: aCommand(), source: 'SIM', price: undefined, receivedAtMs };
    const planned = planOrder({ ...input, behaviour: venueBehaviour.parse({}) });
    expect(eventsOf(planned)).toEqual([
      expect.objectContaining({ type: 'REJECTED', reason: 'there is no price for EURUSD' }),
    ]);
  });
});

describe('cutting a quantity', () => {
  test.each([
    ['10', 1, ['10']],
    ['10', 4, ['2.5', '2.5', '2.5', '2.5']],
    ['1', 3, ['0.33', '0.33', '0.34']],
    ['0.001', 2, ['0.0005', '0.0005']],
    ['0.000000000000000002', 5, ['0.000000000000000001', '0.000000000000000001']],
    ['99999999999999999999', 2, ['49999999999999999999.5', '49999999999999999999.5']],
  ])('%s into %i', (quantity, pieces, expected) => {
    expect(cutIntoPieces(quantity, pieces)).toEqual(expected);
  });

  test('into more pieces than there are units gives fewer pieces', () => {
    expect(cutIntoPieces('1', 1_000).length).toBe(100);
  });
});
