import { decimal, decimalText } from '../../src/domain/decimal';
import { orderWorkflowId } from '../../src/domain/ids';
import { anEvent } from '../support/execution-events';
import { accountRows } from '../support/rows';
import { aBody, startSystem, type TestSystem } from '../support/system';
import { temporalClient } from '../support/temporal-client';
import { waitFor } from '../support/wait-for';

const FILLS = 12_000;
const FILLS_PER_SECOND = 200;
const TICK_MS = 100;
/** Of the server: a history beyond this many events is ended by force. */
const HISTORY_LIMIT = 51_200;
const SIGNALS_PER_RUN = 100;

// https://github.com/temporalio/documentation/issues/3665
describe('a flood of partial fills on one order', () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSystem({
      services: ['order-api', 'quote-health', 'fill-bridge'],
      env: { ORDER_MAX_SIGNALS_PER_RUN: String(SIGNALS_PER_RUN) },
    });
  });
  afterAll(async () => {
    await system.stop();
  });

  test('loses nothing, keeps every history within its limit, and leaves no lag behind', async () => {
    const client = await system.client();
    const body = aBody({ quantity: String(FILLS) });
    await client.submit(body);
    const order = { accountId: client.accountId, clientOrderId: body.clientOrderId };
    const group = `${system.topics.prefix}bridge`;
    const lags: number[] = [];
    let published = 0;
    const startedAt = performance.now();
    while (published < FILLS) {
      const due = Math.min(FILLS, Math.ceil(((performance.now() - startedAt) / 1_000) * FILLS_PER_SECOND));
      const events = Array.from({ length: due - published }, (_, index) =>
        anEvent({
          ...order,
          executionId: `${body.clientOrderId}-${published + index}`,
          quantity: '1',
          price: '1.1',
        }),
      );
      if (events.length > 0) await system.venue.report(...events);
      published = due;
      lags.push(await system.topics.lagOf(group));
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
    const path = `/v1/orders/${body.clientOrderId}`;
    await waitFor(
      'the order to be filled',
      async () => (await client.request('GET', path)).json['status'] === 'FILLED',
      60_000,
    );
    // Bounded: never more than ten seconds of the flood are on their way.
    expect(Math.max(...lags)).toBeLessThan(FILLS_PER_SECOND * 10);
    expect(await system.topics.lagOf(group)).toBe(0);

    const { fills = [], positions = [] } = await accountRows(system.database.pool, client.accountId);
    expect(fills).toHaveLength(FILLS);
    const [position] = positions as { quantity: string }[];
    expect(decimalText(decimal(position?.quantity ?? '0'))).toBe(String(FILLS));
    expect((await client.request('GET', path)).json).toMatchObject({
      cumulativeQuantity: String(FILLS),
      overfilled: false,
      attention: null,
    });

    const operator = await temporalClient();
    const workflowId = orderWorkflowId(order);
    const lengths: number[] = [];
    for await (const run of operator.client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      lengths.push(run.historyLength);
    }
    await operator.close();
    expect(lengths.length).toBeGreaterThan(1);
    expect(Math.max(...lengths)).toBeLessThan(HISTORY_LIMIT);
  }, 180_000);
});
