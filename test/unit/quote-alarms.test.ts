import { createAlarmLog, type FeedAlarm } from '../../src/quotes/alarm-log';

const setup = () => {
  const clock = { nowMs: 0 };
  const entries: { readonly facts: Record<string, unknown>; readonly message: string }[] = [];
  const warn = (facts: Record<string, unknown>, message: string) => entries.push({ facts, message });
  const alarm = createAlarmLog(
    { warn } as unknown as Parameters<typeof createAlarmLog>[0],
    () => clock.nowMs,
  );
  return { clock, entries, alarm };
};

const conflict = (sequence: string): FeedAlarm => ({
  kind: 'content_conflict',
  line: 'B',
  session: 'S1',
  sequence,
});

test('alarms are logged with their facts, of each kind and line one a second; the next entry says how many were not', () => {
  const { clock, entries, alarm } = setup();
  for (let sequence = 1; sequence <= 1_000; sequence += 1) alarm(conflict(String(sequence)));
  alarm({ kind: 'line_lost', line: 'A' });
  alarm({ kind: 'line_lost', line: 'B' });
  alarm({ kind: 'clock_drift', fromMs: 1, toMs: 200 });
  clock.nowMs = 1_000;
  alarm(conflict('1001'));
  expect(entries.map(({ facts }) => facts)).toEqual([
    { kind: 'content_conflict', line: 'B', session: 'S1', sequence: '1', suppressed: 0 },
    { kind: 'line_lost', line: 'A', suppressed: 0 },
    { kind: 'line_lost', line: 'B', suppressed: 0 },
    { kind: 'clock_drift', fromMs: 1, toMs: 200, suppressed: 0 },
    { kind: 'content_conflict', line: 'B', session: 'S1', sequence: '1001', suppressed: 999 },
  ]);
  expect(new Set(entries.map(({ message }) => message)).size).toBe(3);
});
