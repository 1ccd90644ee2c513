import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { workflowBundlePath } from '../../src/temporal/workflow-bundle';

const HISTORIES = join(__dirname, 'histories');

const SHAPES = [
  'acknowledged',
  'cancelled',
  'cleanup-done',
  'cleanup-held',
  'cleanup-refused',
  'cleanup-retried',
  'continued-as-new',
  'created',
  'filled',
  'gate-retry',
  'good-till-date',
  'late',
  'partial',
  'refused',
  'rejected',
  'unacknowledged',
  'verify-one-page',
  'verify-pages',
];

const historyOf = (version: string, shape: string): { events: { eventType: string }[] } =>
  JSON.parse(readFileSync(join(HISTORIES, version, `${shape}.json`), 'utf8')) as never;

beforeAll(() => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
});

describe.each(readdirSync(HISTORIES))('a run of version %s', (version) => {
  test('was recorded in every shape', () => {
    const names = readdirSync(join(HISTORIES, version)).map((file) => file.replace('.json', ''));
    expect(names.toSorted()).toEqual(SHAPES);
  });

  test.each(SHAPES)('that was %s goes on under this code', async (shape) => {
    const options = { workflowBundle: { codePath: workflowBundlePath() } };
    await Worker.runReplayHistory(options, historyOf(version, shape), `replayed-${shape}`);
  });
});

test('a history that this code would not have written is noticed', async () => {
  const [version = ''] = readdirSync(HISTORIES);
  const { events } = historyOf(version, 'filled');
  const withoutMarkers = events
    .filter(({ eventType }) => eventType !== 'EVENT_TYPE_MARKER_RECORDED')
    .map((event, index) => ({ ...event, eventId: String(index + 1) }));
  expect(withoutMarkers.length).toBeLessThan(events.length);
  const options = { workflowBundle: { codePath: workflowBundlePath() } };
  const replayed = Worker.runReplayHistory(options, { events: withoutMarkers });
  await expect(replayed).rejects.toThrow(DeterminismViolationError);
});
