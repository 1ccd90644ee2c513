import type { ExecutionEvent } from '../../src/contracts/execution-event';
import { silentLogger } from '../../src/observability/logger';
import { behaviourBook, type VenueBehaviour } from '../../src/venue/behaviour';
import { SimulatedVenue } from '../../src/venue/simulated-venue';
import { aCommand } from '../support/venue-commands';
import { waitFor } from '../support/wait-for';

function setup(behaviour: Partial<VenueBehaviour> = {}) {
  const published: ExecutionEvent[] = [];
  const venue = new SimulatedVenue({
    source: 'SIM',
    publish: (events) => {
      published.push(...events);
      return Promise.resolve();
    },
    lastPrice: (symbol) => (symbol === 'EURUSD' ? '1.1' : undefined),
    logger: silentLogger(),
  });
  const quick = { acknowledgeAfterMs: 1, fillAfterMs: 1, ...behaviour };
  venue.behaviours = behaviourBook.parse({ default: quick });
  const types = () => published.map(({ type }) => type);
  const settled = (count: number) => waitFor(`${count} executions`, () => published.length >= count);
  return { venue, published, types, settled };
}

/** Long enough for anything wrong to show: longer than every delay of these venues. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 50));

describe('a simulated venue', () => {
  test('acts on a command once, however often it arrives', async () => {
    const { venue, types, settled } = setup();
    for (let copy = 0; copy < 5; copy += 1) venue.receive(aCommand(), 1_000);
    await settled(2);
    await aWhile();
    expect(types()).toEqual(['NEW', 'FILL']);
    expect([venue.commands.received, venue.commands.duplicates]).toEqual([5, 4]);
  });

  test('takes the same client order id of two accounts for two orders', async () => {
    const { venue, settled } = setup();
    venue.receive(aCommand(), 1_000);
    venue.receive(aCommand({ accountId: 'other' }), 1_000);
    await settled(4);
    expect(venue.commands.duplicates).toBe(0);
  });

  test('fills a market order at the last price and a limit order at its limit', async () => {
    const { venue, published, settled } = setup();
    venue.receive(aCommand(), 1_000);
    venue.receive(aCommand({ clientOrderId: 'm', type: 'market', limitPrice: undefined }), 1_000);
    await settled(4);
    const prices = published.filter(({ type }) => type === 'FILL').map(({ price }) => price);
    expect(prices.toSorted()).toEqual(['1.0845', '1.1']);
  });

  test('publishes every execution as often as it is told, with one id', async () => {
    const { venue, published, settled } = setup({ copies: 3 });
    venue.receive(aCommand(), 1_000);
    await settled(6);
    expect(new Set(published.map((event) => JSON.stringify(event))).size).toBe(2);
  });

  test('a cancel ends an order that is at work, and the rest of it is not filled', async () => {
    const { venue, types, settled } = setup({ pieces: 3, filledPieces: 1 });
    venue.receive(aCommand(), 1_000);
    await settled(2);
    venue.receive(aCommand({ command: 'CANCEL' }), 2_000);
    venue.receive(aCommand({ command: 'CANCEL' }), 2_001);
    await settled(3);
    await aWhile();
    expect(types()).toEqual(['NEW', 'FILL', 'CANCELLED']);
  });

  test('refuses each attempt to cancel once when it is told to, and goes on with the order', async () => {
    const { venue, published, types, settled } = setup({ order: 'rest', cancel: 'reject' });
    venue.receive(aCommand(), 1_000);
    await settled(1);
    for (const attempt of [undefined, undefined, 2, 2]) {
      venue.receive(aCommand({ command: 'CANCEL', attempt }), 2_000);
    }
    await settled(3);
    venue.behaviours = behaviourBook.parse({ default: { cancel: 'honour' } });
    venue.receive(aCommand({ command: 'CANCEL', attempt: 3 }), 3_000);
    await settled(4);
    await aWhile();
    expect(types()).toEqual(['NEW', 'CANCEL_REJECTED', 'CANCEL_REJECTED', 'CANCELLED']);
    expect(new Set(published.map(({ executionId }) => executionId)).size).toBe(4);
  });

  test('a cancel of a filled order has no effect', async () => {
    const { venue, types, settled } = setup();
    venue.receive(aCommand(), 1_000);
    await settled(2);
    venue.receive(aCommand({ command: 'CANCEL' }), 2_000);
    await aWhile();
    expect(types()).toEqual(['NEW', 'FILL']);
  });

  test('an ignored cancel has no effect and no answer, nor has its repeat', async () => {
    const { venue, types, settled } = setup({ order: 'rest', cancel: 'ignore' });
    venue.receive(aCommand(), 1_000);
    await settled(1);
    venue.receive(aCommand({ command: 'CANCEL' }), 2_000);
    venue.behaviours = behaviourBook.parse({});
    venue.receive(aCommand({ command: 'CANCEL' }), 2_001);
    await aWhile();
    expect(types()).toEqual(['NEW']);
  });

  test('a status request brings out what was kept quiet, with its own stamp', async () => {
    const { venue, published, settled } = setup({ order: 'rest', acknowledge: false });
    venue.receive(aCommand(), 1_000);
    await aWhile();
    expect(published).toEqual([]);
    venue.receive(aCommand({ command: 'STATUS_REQUEST' }), 9_000);
    await settled(1);
    expect(published).toEqual([
      expect.objectContaining({ type: 'NEW', executedAt: '1970-01-01T00:00:01.001Z' }),
    ]);
  });

  test('a status request of an unknown order is answered with a rejection, and the order is never opened', async () => {
    const { venue, types, settled } = setup();
    venue.receive(aCommand({ command: 'STATUS_REQUEST' }), 1_000);
    await settled(1);
    venue.receive(aCommand(), 2_000);
    await aWhile();
    expect(types()).toEqual(['REJECTED']);
  });

  test('a cancel that arrives before its order is answered, and the order is never opened', async () => {
    const { venue, types, settled } = setup();
    venue.receive(aCommand({ command: 'CANCEL' }), 1_000);
    await settled(1);
    venue.receive(aCommand(), 2_000);
    await aWhile();
    expect(types()).toEqual(['CANCELLED']);
  });

  test('one symbol may behave unlike the others', async () => {
    const { venue, types, settled } = setup();
    venue.behaviours = behaviourBook.parse({ symbols: { EURUSD: { order: 'reject' } } });
    venue.receive(aCommand(), 1_000);
    await settled(1);
    expect(types()).toEqual(['REJECTED']);
  });

  test('a stopped venue lets nothing more happen', async () => {
    const { venue, types, settled } = setup({ pieces: 5, fillAfterMs: 20 });
    venue.receive(aCommand(), 1_000);
    await settled(1);
    await venue.stop();
    const before = types().length;
    await aWhile();
    expect(types().length).toBe(before);
  });
});
