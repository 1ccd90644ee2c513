import { orderWorkflowId } from '../../src/domain/ids';
import { aBody, startSystem, type ServiceName, type TestSystem } from '../support/system';
import { temporalClient, type OperatorClient } from '../support/temporal-client';
import { waitFor } from '../support/wait-for';

const ACCEPT_WINDOW_MS = 6_000;

describe('an order that cannot be opened in time', () => {
  let system: TestSystem;
  let operator: OperatorClient;
  beforeEach(async () => {
    operator = await temporalClient();
  });
  afterEach(async () => {
    await system.stop();
    await operator.close();
  });

  const startWith = async (
    services: readonly ServiceName[],
    apiWorker: 'on' | 'off',
    acceptWindowMs = ACCEPT_WINDOW_MS,
  ) => {
    system = await startSystem({
      services,
      env: {
        ORDER_API_WORKER: apiWorker,
        ORDER_ACCEPT_WINDOW_MS: String(acceptWindowMs),
        API_ANSWER_DEADLINE_MS: '500',
      },
    });
    return system.client();
  };

  test('because every worker is down is refused as EXPIRED when one comes back, and never sent', async () => {
    const client = await startWith(['order-api', 'quote-health'], 'off');
    const body = aBody();
    const pending = await client.submit(body);
    expect(pending.status).toBe(202);
    expect(pending.json).toMatchObject({ outcome: 'pending', clientOrderId: body.clientOrderId });
    expect(pending.headers.get('location')).toBe(`/v1/orders/${body.clientOrderId}`);
    const sentAt = performance.now();
    await waitFor('its time to be over', () => performance.now() - sentAt > ACCEPT_WINDOW_MS);
    await system.start('order-worker');
    const answer = await waitFor('an answer', async () => {
      const given = await client.submit(body);
      return given.status !== 202 && given;
    });
    expect(answer).toMatchObject({ status: 409, replayed: true });
    expect(answer.json).toMatchObject({ code: 'EXPIRED' });
    const run = operator.client.workflow.getHandle(orderWorkflowId({ accountId: client.accountId, ...body }));
    expect(await run.result()).toMatchObject({ outcome: 'refused', code: 'EXPIRED' });
    expect(system.venue.commands(body.clientOrderId)).toEqual([]);
  });

  test('because its run was terminated by hand is refused as ABANDONED, and never opens', async () => {
    const client = await startWith(['order-api', 'quote-health'], 'off');
    const body = aBody();
    expect((await client.submit(body)).status).toBe(202);
    const workflowId = orderWorkflowId({ accountId: client.accountId, ...body });
    await operator.client.workflow.getHandle(workflowId).terminate('by hand');
    // Before its time is over nobody can say yet that it will not open.
    expect((await client.submit(body)).status).toBe(202);
    const refused = await waitFor('the refusal', async () => {
      const given = await client.submit(body);
      return given.status !== 202 && given;
    });
    expect(refused.json).toMatchObject({ code: 'ABANDONED', status: 409 });
    await system.start('order-worker');
    expect(await client.submit(body)).toMatchObject({ status: 409, body: refused.body, replayed: true });
    expect((await client.submit({ ...body, quantity: '11' })).status).toBe(422);
    expect((await client.request('GET', `/v1/orders/${body.clientOrderId}`)).json).toMatchObject({
      status: 'REFUSED',
      refusalCode: 'ABANDONED',
    });
    expect(system.venue.commands(body.clientOrderId)).toEqual([]);
  });

  test('because quote-health is down waits where operators see it, and is refused at its deadline', async () => {
    const client = await startWith(['order-api'], 'on');
    const body = aBody();
    expect((await client.submit(body)).status).toBe(202);
    const workflowId = orderWorkflowId({ accountId: client.accountId, ...body });
    const pending = await waitFor('a visible retry', async () => {
      const { raw } = await operator.client.workflow.getHandle(workflowId).describe();
      const [activity] = raw.pendingActivities ?? [];
      return (activity?.attempt ?? 0) >= 2 && activity;
    });
    expect(pending.lastFailure?.message).toMatch(
      /^asking the quote gate about EURUSD; nothing opens without it: the quote gate at http:\S+ refused the connection$/,
    );
    const refused = await waitFor('the refusal', async () => {
      const given = await client.submit(body);
      return given.status !== 202 && given;
    });
    expect(refused.json).toMatchObject({ code: 'EXPIRED' });
    expect(system.venue.commands(body.clientOrderId)).toEqual([]);
  });

  test('until quote-health comes back opens, and everybody who waits gets the one answer', async () => {
    const client = await startWith(['order-api'], 'on', 30_000);
    const body = aBody();
    const waiting = Promise.all([client.submit(body), client.submit(body)]);
    await system.start('quote-health');
    const early = await waiting;
    const answer = await waitFor('an answer', async () => {
      const given = await client.submit(body);
      return given.status !== 202 && given;
    });
    expect(answer).toMatchObject({ status: 201, replayed: true });
    for (const given of early) expect([202, 201]).toContain(given.status);
    await system.venue.awaitCommand(body.clientOrderId, 'NEW_ORDER');
  });
});
