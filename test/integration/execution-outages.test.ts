import { createServer, type AddressInfo } from 'node:net';
import { createPool } from '../../src/db/pool';
import { findSettled } from '../../src/db/settled-events';
import { silentLogger } from '../../src/observability/logger';
import { countOf, fillsOf, idsOf, temporalIsAway, useBench } from '../support/execution-bridge';
import { waitFor } from '../support/wait-for';

const bench = useBench();

describe('when a server does not answer', () => {
  test('while Temporal is away nothing is committed; when it is back nothing was lost', async () => {
    const events = fillsOf(40, 5);
    await bench.topics.publishEvents(events);
    bench.gateway.before = temporalIsAway;
    const bridge = await bench.start({ parallelOrders: 4 });
    await waitFor('several attempts', async () => (await countOf(bridge.metrics.bridgeRetries)) >= 6);
    expect(await bench.topics.lagOf(bench.groupId)).toBe(events.length);
    expect(await countOf(bridge.metrics.bridgeRetries, { cause: 'temporal' })).toBeGreaterThanOrEqual(6);
    await expect(bridge.consumer.check()).resolves.toBeUndefined();

    bench.gateway.before = () => undefined;
    await bench.everythingCommitted();
    expect(bench.gateway.executionIds().toSorted()).toEqual(idsOf(events).toSorted());
    expect(bridge.fatal).toEqual([]);
  });

  test('a long outage does not try every order of the batch again and again', async () => {
    await bench.topics.publishEvents(fillsOf(300, 1));
    bench.gateway.before = temporalIsAway;
    const bridge = await bench.start({ parallelOrders: 4 });
    await waitFor('several attempts', async () => (await countOf(bridge.metrics.bridgeRetries)) >= 3);
    const batches = await countOf(bridge.metrics.bridgeRetries);
    // Four may fail and four more may be under way when the fourth does; one batch may be in the middle of it.
    expect(bench.gateway.attempts).toBeLessThanOrEqual((batches + 3) * 8);
  });

  test('while PostgreSQL is away nothing is delivered or committed; when it is back nothing was lost', async () => {
    const events = fillsOf(10, 5);
    await bench.topics.publishEvents(events);
    const server = createServer((socket) => socket.once('data', () => socket.end()));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const nowhere = createPool(
      {
        connectionString: `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/none`,
        size: 1,
        statementTimeoutMs: 500,
        connectTimeoutMs: 500,
        applicationName: 'test',
      },
      silentLogger(),
    );
    let away = true;
    const bridge = await bench.start({
      wrap: (ports) => ({
        ...ports,
        findSettled: (executions) =>
          away ? findSettled(nowhere, executions) : ports.findSettled(executions),
      }),
    });
    await waitFor(
      'several attempts',
      async () => (await countOf(bridge.metrics.bridgeRetries, { cause: 'postgresql' })) >= 4,
    );
    expect(bench.gateway.attempts).toBe(0);
    expect(await bench.topics.lagOf(bench.groupId)).toBe(events.length);
    away = false;
    await bench.everythingCommitted();
    expect(bench.gateway.executionIds().toSorted()).toEqual(idsOf(events).toSorted());
    expect(bridge.fatal).toEqual([]);
    await nowhere.end();
    await new Promise((resolve) => server.close(resolve));
  });

  test('an order that fails holds nobody else up, and nobody is delivered to twice for it', async () => {
    const events = fillsOf(12, 10);
    await bench.topics.publishEvents(events);
    let failures = 0;
    bench.gateway.before = ({ key }) => {
      if (key.clientOrderId !== 'order-0' || failures >= 5) return;
      failures += 1;
      temporalIsAway();
    };
    const bridge = await bench.start();
    await waitFor('the other orders', () => bench.gateway.executionIds().length >= 110);
    await bench.everythingCommitted();
    expect(failures).toBe(5);
    for (let order = 0; order < 12; order += 1) {
      const expected = idsOf(events, `order-${order}`);
      expect(bench.gateway.executionIds(`order-${order}`)).toEqual(expected);
    }
    expect(await countOf(bridge.metrics.bridgeMessages, { verdict: 'delivered' })).toBe(events.length);
    expect(await countOf(bridge.metrics.duplicateExecutions)).toBe(0);
  });

  test.each([
    // The library would stop in silence at the one, and try the other again for ever.
    new TypeError('a fault of the program'),
    new Error('something unexpected'),
  ])('an error that waiting does not cure ends the process: %s', async (error) => {
    await bench.topics.publishEvents(fillsOf(1, 1));
    bench.gateway.before = () => {
      throw error;
    };
    const bridge = await bench.start();
    await waitFor('the fatal error', () => bridge.fatal.length > 0);
    expect(bridge.fatal[0]).toBe(error);
    expect(await bench.topics.lagOf(bench.groupId)).toBe(1);
  });
});

describe('membership', () => {
  test('two consumers, one of which leaves in the middle, deliver everything in order', async () => {
    const events = fillsOf(30, 100);
    bench.gateway.before = () => new Promise((resolve) => setTimeout(resolve, 5));
    const [leaving, staying] = [
      await bench.start({ parallelOrders: 4 }),
      await bench.start({ parallelOrders: 4 }),
    ];
    await bench.topics.publishEvents(events);
    await waitFor('some deliveries', () => bench.gateway.executionIds().length > 300);
    await leaving.stop();
    await bench.everythingCommitted();
    expect(staying.fatal).toEqual([]);
    for (let order = 0; order < 30; order += 1) {
      const expected = idsOf(events, `order-${order}`);
      expect([...new Set(bench.gateway.executionIds(`order-${order}`))]).toEqual(expected);
    }
  });

  test('a stop finishes what is under way, commits it, and starts nothing new', async () => {
    const events = fillsOf(50, 1);
    await bench.topics.publishEvents(events);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    bench.gateway.before = () => held;
    const bridge = await bench.start({ parallelOrders: 2 });
    await waitFor('a delivery under way', () => bench.gateway.attempts >= 2);
    const stopped = bridge.stop();
    release();
    await stopped;
    expect(bench.gateway.attempts).toBeLessThan(10);
    expect(bench.gateway.accepted.length).toBe(bench.gateway.attempts);
    expect(await bench.topics.lagOf(bench.groupId)).toBeLessThan(events.length);

    await bench.start();
    await bench.everythingCommitted();
    expect([...new Set(bench.gateway.executionIds())].toSorted()).toEqual(idsOf(events).toSorted());
  });

  test('a consumer that was stopped is not alive', async () => {
    const bridge = await bench.start();
    await expect(bridge.consumer.check()).resolves.toBeUndefined();
    await bridge.stop();
    await expect(bridge.consumer.check()).rejects.toThrow(bench.groupId);
  });

  test('a partition count that is raised is noticed after a restart and no event is missed', async () => {
    await bench.topics.publishEvents(fillsOf(5, 2));
    const first = await bench.start();
    await bench.everythingCommitted();
    await first.stop();
    await bench.topics.admin.createPartitions({
      topicPartitions: [{ topic: bench.topics.names.executions, count: 5 }],
    });
    await bench.start();
    const events = fillsOf(40, 1);
    await bench.topics.publishEvents(events);
    await bench.everythingCommitted();
    expect(bench.gateway.executionIds()).toEqual(expect.arrayContaining(idsOf(events)));
  });
});
