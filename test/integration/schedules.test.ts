import { randomUUID } from 'node:crypto';
import type { ScheduleDescription } from '@temporalio/client';
import { applySchedules, showSchedules, type ScheduleOptions } from '../../src/temporal/schedules';
import { temporalClient, type OperatorClient } from '../support/temporal-client';
import { waitFor } from '../support/wait-for';

describe('the schedules', () => {
  let operator: OperatorClient;
  let options: ScheduleOptions;
  beforeAll(async () => {
    operator = await temporalClient();
  });
  beforeEach(() => {
    options = {
      namespace: 'default',
      taskQueue: 'nobody-polls',
      prefix: `test-${randomUUID().slice(0, 8)}-`,
    };
  });
  afterEach(async () => {
    for (const id of ids()) await operator.client.schedule.getHandle(id).delete();
  });
  afterAll(async () => {
    await operator.close();
  });

  const ids = () => ['dedup-cleanup', 'positions-verify'].map((id) => options.prefix + id);
  const apply = (change: Partial<ScheduleOptions> = {}) =>
    applySchedules(operator.client, { ...options, ...change });
  const handleOf = (id: string) => operator.client.schedule.getHandle(options.prefix + id);
  const settingsOf = ({ spec, action, policies }: ScheduleDescription): unknown => ({
    spec,
    action: [action.workflowType, action.taskQueue],
    policies,
  });

  test('are created: the cleanup every quarter of an hour, the verification every night', async () => {
    expect((await apply()).map(({ id, outcome }) => [id, outcome])).toEqual(
      ids().map((id) => [id, 'created']),
    );
    const cleanup = await handleOf('dedup-cleanup').describe();
    expect(cleanup).toMatchObject({
      spec: { intervals: [{ every: 900_000, offset: 0 }], jitter: 30_000, calendars: [] },
      action: { workflowType: 'dedupCleanupWorkflow', taskQueue: 'nobody-polls' },
      policies: { overlap: 'SKIP', catchupWindow: 600_000, pauseOnFailure: false },
    });
    const verify = await handleOf('positions-verify').describe();
    expect(verify).toMatchObject({
      spec: { intervals: [{ every: 86_400_000, offset: 9_000_000 }] },
      policies: { overlap: 'SKIP', catchupWindow: 43_200_000 },
    });
  });

  test('are left as they are when they are as wanted', async () => {
    await apply();
    const before = await handleOf('dedup-cleanup').describe();
    expect((await apply()).map(({ outcome }) => outcome)).toEqual(['unchanged', 'unchanged']);
    expect(await handleOf('dedup-cleanup').describe()).toEqual(before);
  });

  test('are brought back to what is wanted, whoever changed what', async () => {
    await apply();
    const wanted = settingsOf(await handleOf('dedup-cleanup').describe());
    await handleOf('dedup-cleanup').update((schedule) => ({
      ...schedule,
      spec: { cronExpressions: ['0 5 * * *'] },
      policies: { overlap: 'ALLOW_ALL', catchupWindow: '1 day', pauseOnFailure: true },
    }));
    await waitFor('the change', async () => {
      const { policies } = await handleOf('dedup-cleanup').describe();
      return policies.overlap === 'ALLOW_ALL';
    });
    expect((await apply()).map(({ outcome }) => outcome)).toEqual(['updated', 'unchanged']);
    expect(settingsOf(await handleOf('dedup-cleanup').describe())).toEqual(wanted);
  });

  test('stay paused, with the note of whoever paused them, also through a change', async () => {
    await apply();
    await handleOf('dedup-cleanup').pause('a venue replays its day; ask Ada');
    await waitFor('the pause', async () => (await handleOf('dedup-cleanup').describe()).state.paused);
    for (const taskQueue of ['nobody-polls', 'another-queue']) {
      const [cleanup, verify] = await apply({ taskQueue });
      expect(cleanup).toMatchObject({ paused: true, note: 'a venue replays its day; ask Ada' });
      expect(verify).toMatchObject({ paused: false });
    }
    const { state, action } = await handleOf('dedup-cleanup').describe();
    expect(state).toMatchObject({ paused: true, note: 'a venue replays its day; ask Ada' });
    expect(action.taskQueue).toBe('another-queue');
  });

  test('stay paused when they are paused at the very moment of a change', async () => {
    await apply();
    let pauses = 0;
    const [cleanup] = await apply({
      taskQueue: 'another-queue',
      beforeChange: async (id) => {
        if (id !== `${options.prefix}dedup-cleanup` || pauses > 0) return;
        pauses += 1;
        await handleOf('dedup-cleanup').pause('stop it now');
        await waitFor('the pause', async () => (await handleOf('dedup-cleanup').describe()).state.paused);
      },
    });
    expect(pauses).toBe(1);
    expect(cleanup).toMatchObject({ outcome: 'updated', paused: true, note: 'stop it now' });
    const { state, action } = await handleOf('dedup-cleanup').describe();
    expect([state.paused, action.taskQueue]).toEqual([true, 'another-queue']);
  });

  test('are the same after four have applied them at once', async () => {
    const outcomes = (await Promise.all([apply(), apply(), apply(), apply()])).flat();
    expect(outcomes.filter(({ outcome }) => outcome === 'created')).toHaveLength(2);
    expect((await apply()).map(({ outcome }) => outcome)).toEqual(['unchanged', 'unchanged']);
  });

  test('are shown, also before they are there', async () => {
    expect(await showSchedules(operator.client, options)).toEqual(ids().map((id) => ({ id, exists: false })));
    await apply();
    await handleOf('dedup-cleanup').trigger();
    const shown = await waitFor('the run', async () => {
      const [cleanup] = await showSchedules(operator.client, options);
      return cleanup?.lastWorkflowId !== undefined && cleanup;
    });
    expect(shown).toMatchObject({ exists: true, paused: false, lastStatus: 'RUNNING' });
    expect(shown.next).toMatch(/^\d{4}-/);
    await operator.client.workflow.getHandle(shown.lastWorkflowId!).terminate('the test is over');
  });

  test('never join a run that is not over with another', async () => {
    await apply();
    const handle = handleOf('dedup-cleanup');
    await handle.trigger('SKIP');
    await waitFor('the run', async () => (await handle.describe()).info.runningActions.length === 1);
    await handle.trigger('SKIP');
    const { info } = await waitFor('the skip', async () => {
      const described = await handle.describe();
      return described.info.numActionsSkippedOverlap === 1 && described;
    });
    expect(info.runningActions).toHaveLength(1);
    await operator.client.workflow
      .getHandle(info.runningActions[0]!.workflow.workflowId)
      .terminate('the test is over');
  });
});
