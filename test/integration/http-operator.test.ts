import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import { TemporalUnavailableError } from '../../src/temporal/order-gateway';
import { startHttpApi, type HttpApi, type HttpClient } from '../support/http-api';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { accountRows } from '../support/rows';

const PATH = '/v1/operator/executions';

describe('the API of the operator', () => {
  let api: HttpApi;
  let operator: HttpClient;
  let away = false;
  beforeAll(async () => {
    api = await startHttpApi({
      executions: {
        deliver: () =>
          away ? Promise.reject(new TemporalUnavailableError('no answer')) : Promise.resolve('order'),
      },
    });
    operator = await api.client('ops', 'operator');
  });
  afterAll(() => api.stop());

  const keyOf = ({ request: { accountId, clientOrderId } }: OpenOrderCommand) => ({
    accountId,
    clientOrderId,
  });
  const anOpenedOrder = async () => {
    const order = anOpenOrder();
    await openOrder(api.pool, order, {});
    return order;
  };
  /** Parks a fill; returns its order, which does not exist, and the id of what waits. */
  const aParkedFill = async () => {
    const order = anOpenOrder();
    await applyExecutions(api.pool, { ...keyOf(order), executions: [anExecutionOf(order, 'FILL')] });
    const [event] = await listed(`?accountId=${order.request.accountId}`);
    return { order, id: String(event?.['id']) };
  };
  const listed = async (query: string) =>
    (await operator.get(`${PATH}${query}`)).json['executions'] as Record<string, unknown>[];
  const post = (client: HttpClient, id: string, decision: string, body: unknown) =>
    client.call('POST', `${PATH}/${id}/${decision}`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  test('a key of an account is refused everywhere, even its own events', async () => {
    const { order, id } = await aParkedFill();
    const client = await api.client(order.request.accountId);
    const answers = [
      await client.get(PATH),
      await client.get(`${PATH}/${id}`),
      await post(client, id, 'discard', { reason: 'mine' }),
      await client.get('/v1/operator/nothing'),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 403, json: { code: 'OPERATOR_ONLY' } });
    expect(await listed(`?accountId=${order.request.accountId}`)).toHaveLength(1);
  });

  test('an operator key still opens its own account and no other', async () => {
    expect((await operator.get('/v1/orders')).json).toEqual({ orders: [], nextCursor: null });
  });

  test('what waits is listed in pages, shown whole, and discarded once', async () => {
    const { order, id } = await aParkedFill();
    const { accountId } = order.request;
    await applyExecutions(api.pool, { ...keyOf(order), executions: [anExecutionOf(order, 'NEW')] });
    const first = await operator.get(`${PATH}?accountId=${accountId}&limit=1`);
    const rest = await listed(`?accountId=${accountId}&cursor=${String(first.json['nextCursor'])}`);
    expect(rest).toMatchObject([{ id, reason: 'parked', accountId, decision: null }]);
    expect((await operator.get(`${PATH}/${id}`)).json).toMatchObject({ id, firstContent: null });
    const decided = await post(operator, id, 'discard', { reason: 'not ours' });
    expect(decided.json).toMatchObject({ id, repeated: false, decision: { reason: 'not ours' } });
    expect((decided.json['decision'] as Record<string, unknown>)['decidedBy']).toBe(
      `api-key:${operator.key.slice(3, 19)}`,
    );
    expect((await post(operator, id, 'discard', { reason: 'again' })).json).toEqual({
      ...decided.json,
      repeated: true,
    });
    expect(await post(operator, id, 'adopt', { reason: 'or not' })).toMatchObject({
      status: 409,
      json: { code: 'ALREADY_DECIDED' },
    });
    expect(await listed(`?accountId=${accountId}`)).toHaveLength(1);
    expect(await listed(`?accountId=${accountId}&decided=true&reason=parked`)).toHaveLength(2);
  });

  test('an adoption that Temporal does not hear of is told again by the same request', async () => {
    const [{ id }, order] = [await aParkedFill(), await anOpenedOrder()];
    const body = { reason: 'the bridge erred', order: keyOf(order) };
    away = true;
    expect(await post(operator, id, 'adopt', body)).toMatchObject({
      status: 503,
      json: { code: 'TEMPORAL_UNAVAILABLE' },
    });
    away = false;
    expect((await post(operator, id, 'adopt', body)).json).toMatchObject({
      repeated: true,
      decision: { outcome: 'applied', ...keyOf(order) },
    });
    expect((await accountRows(api.pool, order.request.accountId))['fills']).toHaveLength(1);
  });

  test('what cannot be decided so is told', async () => {
    const { id } = await aParkedFill();
    expect(await post(operator, id, 'adopt', { reason: 'x' })).toMatchObject({
      status: 409,
      json: { code: 'DECISION_IMPOSSIBLE', detail: expect.stringContaining('there is no order') as string },
    });
    expect(await post(operator, id, 'replay', { reason: 'x' })).toMatchObject({
      json: { code: 'DECISION_IMPOSSIBLE' },
    });
    for (const unknown of ['q999999', 'nothing', '%00']) {
      expect((await operator.get(`${PATH}/${unknown}`)).json['code']).toBe('EXECUTION_NOT_FOUND');
      expect((await post(operator, unknown, 'discard', { reason: 'x' })).json['code']).toBe(
        'EXECUTION_NOT_FOUND',
      );
    }
  });

  test.each([
    ['no reason', {}],
    ['an empty reason', { reason: ' ' }],
    ['a reason that cannot be stored', { reason: 'a\u0000' }],
    ['an order where none belongs', { reason: 'x', order: { accountId: 'a', clientOrderId: 'c' } }],
  ])('%s is refused', async (_, body) => {
    const { id } = await aParkedFill();
    expect(await post(operator, id, 'discard', body)).toMatchObject({
      status: 400,
      json: { code: 'INVALID_REQUEST' },
    });
  });

  test.each(['?decided=yes', '?reason=odd', '?cursor=bm90aGluZw', '?limit=0', '?source=%00', '?colour=red'])(
    'the query %s is refused',
    async (query) => {
      expect(await operator.get(`${PATH}${query}`)).toMatchObject({
        status: 400,
        json: { code: 'INVALID_REQUEST' },
      });
    },
  );
});
