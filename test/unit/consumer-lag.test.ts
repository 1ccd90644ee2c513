import type { Admin } from 'kafkajs';
import { readConsumerLag } from '../../src/kafka/consumer-lag';

/** What a broker answers of one partition that holds the offsets 10 to 29. */
function adminOf(committed: string): Admin {
  return {
    fetchOffsets: () =>
      Promise.resolve([{ topic: 'executions', partitions: [{ partition: 0, offset: committed }] }]),
    fetchTopicOffsets: () => Promise.resolve([{ partition: 0, offset: '30', low: '10', high: '30' }]),
  } as unknown as Admin;
}

describe('the lag of a group', () => {
  test.each([
    ['none was committed', '-1', 10n, 20n],
    ['the first was asked for, after an offset out of range', '-2', 10n, 20n],
    ['it stands in the middle', '25', 25n, 5n],
    ['it stands behind the end, as of an earlier topic', '40', 40n, 0n],
  ])('when %s', async (_what, offset, committed, lag) => {
    expect(await readConsumerLag(adminOf(offset), 'executions', 'bridge')).toEqual([
      { partition: 0, committed, lag },
    ]);
  });
});
