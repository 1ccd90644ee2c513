import type { ExecutionEvent } from '../../src/contracts/execution-event';
import { anAcknowledgement, anEvent } from '../support/execution-events';
import { KILL_POINTS } from '../support/kill-points';
import { aBody, startSystem, type ApiClient, type TestSystem } from '../support/system';
import { waitFor } from '../support/wait-for';

describe('a worker that is killed', () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSystem({
      services: ['order-api', 'quote-health', 'fill-bridge'],
      env: { ORDER_API_WORKER: 'off' },
    });
  });
  afterAll(async () => {
    await system.stop();
  });

  /** Sends the body until there is an answer, as a client does that knows a resend to be safe. */
  const answerTo = (client: ApiClient, body: Record<string, unknown>) =>
    waitFor('an answer', async () => {
      const answer = await client.submit(body);
      return answer.status !== 202 && answer;
    });

  test.each(KILL_POINTS)(
    'at %s leaves one order with its first answer and the right position',
    async (point) => {
      const client = await system.client();
      const body = aBody({ quantity: '3' });
      const doomed = await system.start(
        'order-worker',
        { TEKIL_TEST_KILL_POINT: point },
        'test/support/killed-order-worker.ts',
      );
      const submitted = client.submit(body);
      const order = { accountId: client.accountId, clientOrderId: body.clientOrderId };
      const fills: ExecutionEvent[] = ['1', '2'].map((quantity) =>
        anEvent({ ...order, executionId: `${body.clientOrderId}-${quantity}`, quantity, price: '1.1' }),
      );
      if (point.startsWith('applyExecutions')) {
        await system.venue.awaitCommand(body.clientOrderId, 'NEW_ORDER');
        await system.venue.report(...fills);
      }
      expect(await doomed.exited).toBe('SIGKILL');

      const replacement = await system.start('order-worker');
      const first = await submitted;
      const answer = first.status === 202 ? await answerTo(client, body) : first;
      expect(answer.status).toBe(201);
      await system.venue.awaitCommand(body.clientOrderId, 'NEW_ORDER');
      await system.venue.report(
        anAcknowledgement({ ...order, executionId: `${body.clientOrderId}-new` }),
        ...fills,
      );

      const path = `/v1/orders/${body.clientOrderId}`;
      const filled = await waitFor('the order to be filled', async () => {
        const { json } = await client.request('GET', path);
        return json['status'] === 'FILLED' && json;
      });
      expect(filled).toMatchObject({ cumulativeQuantity: '3', overfilled: false, attention: null });
      const position = await client.request('GET', '/v1/positions/EURUSD');
      expect(position.json).toMatchObject({ quantity: '3', averagePrice: '1.1' });
      expect(await client.submit(body)).toMatchObject({ status: 201, body: answer.body, replayed: true });
      const { json } = await client.request('GET', '/v1/orders');
      expect(json['orders']).toHaveLength(1);
      await replacement.stop();
    },
  );
});

describe('an API that is killed while its own worker opens an order', () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSystem({ services: ['quote-health', 'order-worker'] });
  });
  afterAll(async () => {
    await system.stop();
  });

  test.each(['openOrder:before-commit', 'openOrder:after-commit'] as const)(
    'at %s leaves the order to another worker, and the resend gets the one answer',
    async (point) => {
      const client = await system.client();
      const body = aBody();
      const doomed = await system.start(
        'order-api',
        { TEKIL_TEST_KILL_POINT: point },
        'test/support/killed-order-api.ts',
      );
      await expect(client.submit(body)).rejects.toThrow();
      expect(await doomed.exited).toBe('SIGKILL');
      const api = await system.start('order-api');
      const answer = await waitFor('an answer', async () => {
        const given = await client.submit(body);
        return given.status === 201 && given;
      });
      // Whoever was first got no answer; everybody after is told that it is a repeat.
      expect(answer.replayed).toBe(true);
      await system.venue.awaitCommand(body.clientOrderId, 'NEW_ORDER');
      expect(await client.submit(body)).toMatchObject({ body: answer.body, replayed: true });
      const { json } = await client.request('GET', '/v1/orders');
      expect(json['orders']).toHaveLength(1);
      await api.stop();
    },
  );
});
