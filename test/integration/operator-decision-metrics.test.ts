import { applyExecutions } from '../../src/db/apply-executions';
import { startHttpApi, type HttpApi, type HttpClient } from '../support/http-api';
import { anExecutionOf, anOpenOrder } from '../support/orders';

describe('the decisions of operators', () => {
  let api: HttpApi;
  let operator: HttpClient;
  beforeAll(async () => {
    api = await startHttpApi();
    operator = await api.client('ops', 'operator');
  });
  afterAll(() => api.stop());

  const decide = (id: string, decision: string) =>
    operator.call('POST', `/v1/operator/executions/${id}/${decision}`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ reason: 'a test' }),
    });

  test('are counted by what came of them: done, repeated or refused', async () => {
    const order = anOpenOrder();
    const { accountId, clientOrderId } = order.request;
    await applyExecutions(api.pool, {
      accountId,
      clientOrderId,
      executions: [anExecutionOf(order, 'FILL')],
    });
    const { json } = await operator.get(`/v1/operator/executions?accountId=${accountId}`);
    const id = String((json['executions'] as { id: string }[])[0]?.id);
    const answers = [
      await decide(id, 'replay'),
      await decide(id, 'discard'),
      await decide(id, 'discard'),
      await decide(id, 'adopt'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([409, 200, 200, 409]);
    const { values } = await api.deps.metrics.operatorDecisions.get();
    const counted = values.map(({ labels, value }) => [labels.decision, labels.outcome, value]);
    expect(counted).toEqual([
      ['replay', 'refused', 1],
      ['discard', 'discarded', 1],
      ['discard', 'repeated', 1],
      ['adopt', 'refused', 1],
    ]);
  });
});
