import { judgeWindow, type TopicRetention } from '../../src/domain/dedup-window';
import { durationText } from '../../src/domain/duration-text';

const DAY_MS = 86_400_000;

function topic(change: Partial<TopicRetention> = {}): TopicRetention {
  return { topic: 'executions', retentionMs: 7 * DAY_MS, retentionBytes: -1, deletesByTime: true, ...change };
}

const deadLetters = topic({ topic: 'executions.dlq' });

function judge(windowDays: number, executions: TopicRetention, letters = deadLetters) {
  return judgeWindow({ windowMs: windowDays * DAY_MS, executions, deadLetters: letters });
}

describe('a dedup window', () => {
  test('as long as retention and hold together is safe', () => {
    expect(judge(14, topic())).toEqual({
      safe: true,
      reason: 'window 14 d, retention of executions 7 d, hold of executions.dlq 7 d',
    });
  });

  test('a millisecond shorter is not, and the reason names the three numbers and what is needed', () => {
    const verdict = judgeWindow({ windowMs: 14 * DAY_MS - 1, executions: topic(), deadLetters });
    expect(verdict).toMatchObject({ safe: false, code: 'TOO_SHORT' });
    for (const number of ['14 d', 'window 1209599999 ms', 'executions 7 d', 'executions.dlq 7 d']) {
      expect(verdict.reason).toContain(number);
    }
  });

  test.each([
    ['UNLIMITED', { retentionMs: -1 }],
    ['SIZE_ONLY', { retentionMs: -1, retentionBytes: 1_000_000 }],
    ['COMPACTED', { deletesByTime: false }],
  ] as const)('is never safe when retention is %s, however long it is', (code, change) => {
    const verdict = judge(3_650, topic(change));
    expect(verdict).toMatchObject({ safe: false, code });
    for (const number of ['window 3650 d', 'executions without end', 'executions.dlq 7 d']) {
      expect(verdict.reason).toContain(number);
    }
  });

  test('is judged by the dead letters just as well', () => {
    const verdict = judge(3_650, topic(), topic({ topic: 'executions.dlq', retentionMs: -1 }));
    expect(verdict).toMatchObject({ safe: false, code: 'UNLIMITED' });
    expect(verdict.reason).toContain('executions.dlq keeps messages without end');
  });

  test('is too short for a retention beyond every calendar', () => {
    expect(judge(3_650, topic({ retentionMs: Number('9223372036854775807') }))).toMatchObject({
      safe: false,
    });
  });
});

test.each([
  [30 * DAY_MS, '30 d'],
  [36 * 3_600_000, '36 h'],
  [90 * 60_000, '90 min'],
  [1_500, '1500 ms'],
  [0, '0 ms'],
])('%d ms is written as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
