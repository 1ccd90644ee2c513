import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { orderWorkflowId } from '../../src/domain/ids';
import { RecordingGateway, startBridge } from '../support/execution-bridge';
import { anEvent } from '../support/execution-events';
import { createTestTopics } from '../support/kafka-topics';
import { createTestDatabase } from '../support/test-database';
import { waitFor } from '../support/wait-for';

const EVENTS_PER_CODEC = 1_000;
const hasKcat = spawnSync('kcat', ['-V']).error === undefined;
const reason = hasKcat ? '' : ' (SKIPPED: kcat is not installed; "apt-get install kcat" provides it)';

/** Publishes as a foreign client does: librdkafka, with its own compression. */
function publishWithKcat(brokers: readonly string[], topic: string, codec: string, lines: string): void {
  const args = ['-P', '-b', brokers.join(','), '-t', topic, '-K', '\t', '-z', codec];
  const { status, stderr } = spawnSync('kcat', args, { input: lines, encoding: 'utf8', timeout: 30_000 });
  if (status !== 0) throw new Error(`kcat -z ${codec} failed: ${stderr}`);
}

describe('executions from a foreign producer', () => {
  (hasKcat ? test : test.skip)(`are read in gzip, Snappy, LZ4 and Zstandard alike${reason}`, async () => {
    const [database, topics] = await Promise.all([createTestDatabase(), createTestTopics(1)]);
    const accountId = `a-${randomUUID()}`;
    const expected: string[] = [];
    for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd']) {
      const events = Array.from({ length: EVENTS_PER_CODEC }, (_, n) =>
        // The text varies, so that batches span several compression blocks.
        anEvent({
          accountId,
          executionId: `${codec}-${n}`,
          reason: `${codec} ${randomUUID()}`.repeat(1 + (n % 20)),
        }),
      );
      const lines = events.map((event) => `${orderWorkflowId(event)}\t${JSON.stringify(event)}\n`).join('');
      publishWithKcat(topics.brokers, topics.names.executions, codec, lines);
      expected.push(...events.map(({ executionId }) => executionId));
    }
    const gateway = new RecordingGateway();
    const groupId = `test-${randomUUID()}`;
    const bridge = await startBridge({ topics, pool: database.pool, gateway, groupId });
    try {
      await waitFor('all executions', () => gateway.executionIds().length >= expected.length);
      expect(gateway.executionIds()).toEqual(expected);
      expect(bridge.fatal).toEqual([]);
    } finally {
      await bridge.stop();
      await topics.drop();
      await database.drop();
    }
  });
});
