import { countOf, fillsOf, idsOf, temporalIsAway, useBench } from '../support/execution-bridge';
import { waitFor } from '../support/wait-for';

const bench = useBench();

/** Resolves when everything but the events of `order-0` has been accepted. */
const othersAreDelivered = (count: number, timeoutMs: number): Promise<unknown> =>
  waitFor(
    'the other orders',
    () => bench.gateway.executionIds().length - bench.gateway.executionIds('order-0').length === count,
    timeoutMs,
  );

describe('one order that fails', () => {
  test('holds up no other order of its partition, however much lies behind it, and no offset passes it', async () => {
    // About two thousand a partition: more than are taken through at a time.
    const events = fillsOf(30, 200);
    await bench.topics.publishEvents(events);
    bench.gateway.before = ({ key }) => {
      if (key.clientOrderId === 'order-0') temporalIsAway();
    };
    const bridge = await bench.start();
    await othersAreDelivered(5_800, 20_000);
    const later = fillsOf(30, 5, events[0]!.accountId);
    await bench.topics.publishEvents(later);
    await othersAreDelivered(5_945, 10_000);

    const uncommitted = await bench.topics.lagOf(bench.groupId);
    expect(uncommitted).toBeGreaterThanOrEqual(205);
    expect(bench.gateway.executionIds('order-0')).toEqual([]);
    expect(await countOf(bridge.metrics.bridgeRetries, { cause: 'temporal' })).toBeGreaterThan(0);

    bench.gateway.before = () => undefined;
    await bench.everythingCommitted();
    for (let order = 0; order < 30; order += 1) {
      const expected = idsOf([...events, ...later], `order-${order}`);
      expect(bench.gateway.executionIds(`order-${order}`)).toEqual(expected);
    }
    expect(await countOf(bridge.metrics.duplicateExecutions)).toBe(0);
    expect(bridge.fatal).toEqual([]);
  });

  test('is not forgotten by a member that stops, and nothing of it is lost', async () => {
    const events = fillsOf(10, 300);
    await bench.topics.publishEvents(events);
    bench.gateway.before = ({ key }) => {
      if (key.clientOrderId === 'order-0') temporalIsAway();
    };
    const bridge = await bench.start();
    await othersAreDelivered(2_700, 20_000);
    await bridge.stop();
    expect(await bench.topics.lagOf(bench.groupId)).toBeGreaterThanOrEqual(300);
    bench.gateway.before = () => undefined;
    await bench.start();
    await bench.everythingCommitted();
    expect(bench.gateway.executionIds('order-0')).toEqual(idsOf(events, 'order-0'));
  });
});

test('one slow order holds the others of its partition up for no longer than its share of a slice', async () => {
  const slowMs = 1_000;
  // Eleven signals of the slow order, a second each; ten of them lie in one slice.
  const slow = fillsOf(1, 1_100);
  const others = fillsOf(30, 100, slow[0]!.accountId).filter(
    ({ clientOrderId }) => clientOrderId !== 'order-0',
  );
  bench.gateway.before = async ({ key }) => {
    if (key.clientOrderId === 'order-0') await new Promise((resolve) => setTimeout(resolve, slowMs));
  };
  await bench.topics.publishEvents([...slow, ...others]);
  await bench.start();
  // In a slice it may take two seconds and one more signal.
  await othersAreDelivered(others.length, 8_000);
  expect(bench.gateway.executionIds('order-0').length).toBeLessThan(800);
  await bench.everythingCommitted(undefined, 60_000);
  expect(bench.gateway.executionIds('order-0')).toEqual(idsOf(slow));
}, 90_000);
