import { orderWorkflowId } from '../../src/domain/ids';
import { anAcknowledgement } from '../support/execution-events';
import { aBody, startSystem, type ApiClient, type TestSystem } from '../support/system';
import { temporalClient, type OperatorClient } from '../support/temporal-client';
import { waitFor } from '../support/wait-for';

describe('a repeat that comes late', () => {
  let system: TestSystem;
  let operator: OperatorClient;
  let client: ApiClient;
  beforeAll(async () => {
    system = await startSystem({ services: ['order-api', 'quote-health', 'fill-bridge'] });
    operator = await temporalClient();
    client = await system.client();
  });
  afterAll(async () => {
    await operator.close();
    await system.stop();
  });

  // https://github.com/alpacahq/alpaca-py/issues/260
  test('after the order was cancelled gets the first answer and opens nothing; a new order needs a new key', async () => {
    const body = aBody();
    const first = await client.submit(body);
    await client.request('POST', `/v1/orders/${body.clientOrderId}/cancel`);
    await system.venue.awaitCommand(body.clientOrderId, 'CANCEL');
    const order = { accountId: client.accountId, clientOrderId: body.clientOrderId };
    const cancelled = {
      ...anAcknowledgement({ ...order, executionId: `${body.clientOrderId}-c` }),
      type: 'CANCELLED' as const,
    };
    await system.venue.report(cancelled);
    const path = `/v1/orders/${body.clientOrderId}`;
    await waitFor('the order to be cancelled', async () => {
      const { json } = await client.request('GET', path);
      return json['status'] === 'CANCELLED';
    });
    expect(await client.submit(body)).toMatchObject({ status: 201, body: first.body, replayed: true });
    expect((await client.request('GET', path)).json['status']).toBe('CANCELLED');
    expect(system.venue.commands(body.clientOrderId)).toEqual(['NEW_ORDER', 'CANCEL']);
    expect(await client.submit(aBody())).toMatchObject({ status: 201, replayed: false });
  });

  // https://github.com/temporalio/documentation/issues/3014
  test('when Temporal has long forgotten the run is answered from PostgreSQL, and starts none', async () => {
    const body = aBody();
    const first = await client.submit(body);
    await system.venue.awaitCommand(body.clientOrderId, 'NEW_ORDER');
    const workflowId = orderWorkflowId({ accountId: client.accountId, clientOrderId: body.clientOrderId });
    // What the end of the namespace's retention does, done by hand.
    await operator.client.workflowService.deleteWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId },
    });
    const forgotten = () =>
      operator.client.workflow
        .getHandle(workflowId)
        .describe()
        .then(
          () => false,
          () => true,
        );
    await waitFor('the run to be forgotten', forgotten);
    expect(await client.submit(body)).toMatchObject({ status: 201, body: first.body, replayed: true });
    expect((await client.submit({ ...body, quantity: '11' })).status).toBe(422);
    expect(await forgotten()).toBe(true);
  });
});
