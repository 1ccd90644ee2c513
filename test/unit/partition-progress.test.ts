import { PartitionProgress } from '../../src/kafka/partition-progress';

const messages = (...offsets: string[]) => offsets.map((offset) => ({ offset }));

describe('how far the offset of a partition may move', () => {
  test('not over the first message that is not done, and over it when it is', () => {
    const progress = new PartitionProgress();
    progress.record(messages('5', '6', '9'), new Set(['5', '9']));
    expect(progress.firstOpen).toBe('6');
    progress.record(messages('12'), new Set(['12']));
    expect(progress.firstOpen).toBe('6');
    progress.record(messages('6', '9'), new Set(['6', '9']));
    expect(progress.firstOpen).toBeUndefined();
  });

  test('by the number and not by the text, also beyond 2^53', () => {
    const progress = new PartitionProgress();
    progress.record(messages('9007199254740992', '9007199254740993'), new Set(['9007199254740993']));
    expect(progress.isDone('9007199254740993')).toBe(true);
    progress.record(messages('9007199254740994'), new Set());
    expect([progress.firstOpen, progress.ahead]).toEqual(['9007199254740992', 2]);
  });

  test('what was done ahead of an open message is remembered, what was not read is not done', () => {
    const progress = new PartitionProgress();
    progress.record(messages('2', '3', '10'), new Set(['3']));
    expect(['1', '2', '3', '10', '11'].map((offset) => progress.isDone(offset))).toEqual([
      false,
      false,
      true,
      false,
      false,
    ]);
    expect(progress.ahead).toBe(8);
  });

  test('what lies between two open messages stays known until reading has passed it again', () => {
    const progress = new PartitionProgress();
    progress.record(messages('1', '2', '3', '4'), new Set(['2', '4']));
    progress.record(messages('1'), new Set(['1']));
    progress.startAt('2');
    expect([progress.isDone('2'), progress.firstOpen]).toEqual([true, '3']);
    progress.record(messages('2', '3'), new Set(['2', '3']));
    expect([progress.isDone('4'), progress.firstOpen]).toEqual([true, undefined]);
    progress.record(messages('4', '5'), new Set(['4', '5']));
    expect(progress.isDone('4')).toBe(false);
  });

  test('reading that begins again before everything that is remembered remembers nothing', () => {
    const progress = new PartitionProgress();
    progress.record(messages('700', '701'), new Set(['701']));
    progress.startAt('700');
    expect(progress.isDone('701')).toBe(true);
    // The topic was deleted and created again: these are other messages.
    progress.startAt('0');
    expect([progress.isDone('701'), progress.firstOpen]).toEqual([false, undefined]);
    progress.record(messages('0', '701'), new Set(['0']));
    expect(progress.firstOpen).toBe('701');
  });
});
