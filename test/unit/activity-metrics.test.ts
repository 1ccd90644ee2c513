import type { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { createMetrics } from '../../src/observability/metrics';
import { countActivityAttempts } from '../../src/temporal/activity-metrics';

async function attempt(number: number, work: () => Promise<unknown>) {
  const metrics = createMetrics();
  const info = { activityType: 'applyExecutions', attempt: number };
  const context = { info } as unknown as Context;
  const execute = countActivityAttempts(metrics)(context).inbound!.execute!;
  const outcome = await execute({ args: [], headers: {} }, work).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  return {
    outcome,
    retries: (await metrics.activityRetries.get()).values,
    failures: (await metrics.activityFailures.get()).values,
  };
}

describe('the attempts of activities', () => {
  test('are not counted when the first one succeeds', async () => {
    const { outcome, retries, failures } = await attempt(1, () => Promise.resolve('done'));
    expect(outcome).toEqual({ value: 'done' });
    expect([retries, failures]).toEqual([[], []]);
  });

  test('are counted from the second on, also when that one succeeds', async () => {
    const { retries, failures } = await attempt(2, () => Promise.resolve());
    expect(retries).toEqual([{ value: 1, labels: { activity: 'applyExecutions' } }]);
    expect(failures).toEqual([]);
  });

  test.each([
    [ApplicationFailure.create({ type: 'DatabaseUnavailable', message: 'no answer' }), 'DatabaseUnavailable'],
    [new CancelledFailure('the worker stops'), 'Cancelled'],
    [new RangeError('a fault of ours'), 'RangeError'],
    ['not even an error', 'UnknownError'],
  ])('that fail are counted by the type of their failure, which goes on: %s', async (error, type) => {
    // Whatever it is that an activity throws.
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
    const { outcome, failures } = await attempt(1, () => Promise.reject(error));
    expect(outcome).toEqual({ error });
    expect(failures).toEqual([{ value: 1, labels: { activity: 'applyExecutions', type } }]);
  });
});
