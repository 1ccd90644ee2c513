import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import { startHttpApi, type HttpAnswer, type HttpApi, type HttpClient } from '../support/http-api';
import { anExecutionOf, anOpenOrder } from '../support/orders';

describe('the history of a position over HTTP', () => {
  let api: HttpApi;
  let client: HttpClient;
  beforeAll(async () => {
    api = await startHttpApi();
  });
  beforeEach(async () => {
    client = await api.client();
  });
  afterAll(() => api.stop());

  /** Two fills and a bust of the first. */
  const traded = async (symbol = 'EUR/USD'): Promise<void> => {
    const command = anOpenOrder({ accountId: client.accountId, symbol, clientOrderId: 'o-1' });
    await openOrder(api.pool, command, {});
    const { accountId, clientOrderId } = command.request;
    const id = (name: string): string => `${accountId}-${name}`;
    const executions = [
      anExecutionOf(command, 'FILL', { executionId: id('E1'), quantity: '1.50', price: '1.1' }),
      anExecutionOf(command, 'FILL', { executionId: id('E2'), quantity: '2', price: '1.20' }),
    ];
    const bust = anExecutionOf(command, 'BUST', { executionId: id('B1'), refExecutionId: id('E1') });
    await applyExecutions(api.pool, { accountId, clientOrderId, executions });
    await applyExecutions(api.pool, { accountId, clientOrderId, executions: [bust] });
  };
  const HISTORY = '/v1/positions/EUR%2FUSD/history';
  const sequencesOf = ({ json }: HttpAnswer): readonly number[] =>
    (json['changes'] as readonly { readonly sequence: number }[]).map(({ sequence }) => sequence);

  test('shows each change with its execution and the position after it, newest first', async () => {
    await traded();
    const { accountId } = client;
    const { json } = await client.get(HISTORY);
    const common = { source: 'TEST', clientOrderId: 'o-1', realisedProfit: '0' };
    const recordedAt = expect.stringMatching(/Z$/) as unknown;
    expect(json).toEqual({
      changes: [
        { sequence: 3, type: 'BUST', executionId: `${accountId}-B1`, quantity: '2', averagePrice: '1.2' },
        {
          sequence: 2,
          type: 'FILL',
          executionId: `${accountId}-E2`,
          quantity: '3.5',
          averagePrice: '1.157142857142857143',
        },
        { sequence: 1, type: 'FILL', executionId: `${accountId}-E1`, quantity: '1.5', averagePrice: '1.1' },
      ].map((change) => ({ ...change, ...common, recordedAt })),
      nextCursor: null,
    });
  });

  test('gives each change once, page by page, also when there are new ones meanwhile', async () => {
    await traded();
    const first = await client.get(`${HISTORY}?limit=2`);
    await api.pool.query(
      `insert into position_changes select account_id, symbol, 4, source, event_type, execution_id || 'x',
         client_order_id, quantity, average_price, realised_profit
       from position_changes where account_id = $1 and sequence = 3`,
      [client.accountId],
    );
    const second = await client.get(`${HISTORY}?limit=2&cursor=${String(first.json['nextCursor'])}`);
    expect([...sequencesOf(first), ...sequencesOf(second)]).toEqual([3, 2, 1]);
    expect(second.json['nextCursor']).toBeNull();
  });

  test('is of its own symbol and account only', async () => {
    await traded();
    expect(await (await api.client()).get(HISTORY)).toMatchObject({
      status: 404,
      json: { code: 'POSITION_NOT_FOUND' },
    });
    expect((await client.get('/v1/positions/EURUSD/history')).status).toBe(404);
  });

  test.each(['eurusd', '%00', '%F0%9F%98%80'])('in %s, which is no symbol, is 404', async (symbol) => {
    expect((await client.get(`/v1/positions/${symbol}/history`)).json['code']).toBe('POSITION_NOT_FOUND');
  });

  test.each([
    ['limit=0', 'limit'],
    ['cursor=RVVSVVNE', 'cursor'],
    ['cursor=OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5', 'cursor'],
    ['from=1', 'from'],
  ])('refuses ?%s and names %s', async (query, field) => {
    await traded();
    expect(await client.get(`${HISTORY}?${query}`)).toMatchObject({
      status: 400,
      json: { code: 'INVALID_REQUEST', errors: [{ field }] },
    });
  });

  test('is only read', async () => {
    expect(await client.call('POST', HISTORY)).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
  });
});
