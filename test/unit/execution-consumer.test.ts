import type { EachBatchPayload, Kafka } from 'kafkajs';
import { ExecutionConsumer } from '../../src/kafka/execution-consumer';
import type { ExecutionPorts } from '../../src/kafka/execution-slice';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import { aMessage, anEvent } from '../support/execution-events';

type Listener = (event: { payload: unknown }) => void;

/** Stands in for the library where a broker cannot be brought to do it: batches of an earlier membership. */
class FakeLibrary {
  readonly listeners = new Map<string, Listener>();
  readonly sought: string[] = [];
  readonly committed: string[] = [];
  readonly resolved: string[] = [];
  groupOffset = '-1';
  /** What happens while the group's offset is asked for. */
  meanwhile: () => void = () => undefined;
  eachBatch: (payload: EachBatchPayload) => Promise<void> = () => Promise.reject(new Error('not running'));

  readonly kafka = {
    consumer: () => ({
      events: { GROUP_JOIN: 'join', HEARTBEAT: 'heartbeat', STOP: 'stop', CRASH: 'crash' },
      on: (event: string, listener: Listener) => this.listeners.set(event, listener),
      connect: () => Promise.resolve(),
      subscribe: () => Promise.resolve(),
      run: (options: { eachBatch: FakeLibrary['eachBatch'] }) => {
        this.eachBatch = options.eachBatch;
        return Promise.resolve();
      },
      seek: ({ offset }: { offset: string }) => this.sought.push(offset),
      disconnect: () => Promise.resolve(),
    }),
    admin: () => ({
      connect: () => Promise.resolve(),
      disconnect: () => Promise.resolve(),
      fetchOffsets: () => {
        this.meanwhile();
        return Promise.resolve([
          { topic: 'executions', partitions: [{ partition: 0, offset: this.groupOffset }] },
        ]);
      },
    }),
  } as unknown as Kafka;

  join(): void {
    this.listeners.get('join')?.({ payload: { memberAssignment: { executions: [0] } } });
  }

  /** Resolves when what a heartbeat sets off is over. */
  async beat(): Promise<void> {
    this.listeners.get('heartbeat')?.({ payload: {} });
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Messages of one order with these offsets, as they are handed to the consumer. */
  handle(...offsets: readonly string[]): Promise<void> {
    const messages = offsets.map((offset) => ({ ...aMessage(anEvent({ executionId: offset })), offset }));
    return this.eachBatch({
      batch: { topic: 'executions', partition: 0, messages, lastOffset: () => messages.at(-1)?.offset },
      isRunning: () => true,
      isStale: () => false,
      heartbeat: () => Promise.resolve(),
      pause: () => () => undefined,
      resolveOffset: (offset: string) => this.resolved.push(offset),
      commitOffsetsIfNecessary: (offsets: {
        readonly topics: readonly { readonly partitions: readonly { readonly offset: string }[] }[];
      }) => {
        this.committed.push(
          ...offsets.topics.flatMap((topic) => topic.partitions).map(({ offset }) => offset),
        );
        return Promise.resolve();
      },
    } as unknown as EachBatchPayload);
  }
}

describe('a consumer of executions', () => {
  const delivered: string[] = [];
  let deliver: ExecutionPorts['deliver'];
  let library: FakeLibrary;
  const fatal: unknown[] = [];

  beforeEach(async () => {
    delivered.length = 0;
    fatal.length = 0;
    deliver = ({ executions }) => {
      delivered.push(...executions.map(({ executionId }) => executionId));
      return Promise.resolve('order');
    };
    library = new FakeLibrary();
    const consumer = new ExecutionConsumer(
      library.kafka,
      {
        findSettled: () => Promise.resolve(new Set()),
        deliver: (batch) => deliver(batch),
        quarantine: () => Promise.resolve(),
        publishDeadLetters: () => Promise.resolve(),
        unansweredBy: () => 'temporal',
      },
      {
        topic: 'executions',
        groupId: 'bridge',
        parallelOrders: 4,
        maxBackoffMs: 1_000,
        onFatal: (error) => fatal.push(error),
      },
      createMetrics(),
      silentLogger(),
    );
    await consumer.start();
    library.join();
  });

  test('begins where the offset of its group stands, also when the library hands it something ahead of that', async () => {
    library.groupOffset = '5';
    await library.handle('9', '10');
    expect([library.sought, delivered, library.resolved]).toEqual([['5'], [], []]);
    await library.handle('5', '6');
    expect(delivered).toEqual(['5', '6']);
    // And again when another member may have had the partition in between.
    library.join();
    await library.handle('7', '8');
    expect([library.sought, delivered]).toEqual([
      ['5', '5'],
      ['5', '6'],
    ]);
    expect(fatal).toEqual([]);
  });

  test('takes what follows a hole in the numbers, once it has asked for what is in it', async () => {
    library.groupOffset = '5';
    await library.handle('8');
    await library.handle('8');
    expect([library.sought, delivered]).toEqual([['5'], ['8']]);
  });

  test('begins anew when the broker has forgotten what it committed, though no batch comes', async () => {
    library.groupOffset = '5';
    await library.handle('5', '6');
    library.groupOffset = '7';
    await library.beat();
    expect([library.committed, library.sought]).toEqual([['7'], []]);
    library.groupOffset = '-1';
    await library.beat();
    await library.beat();
    expect(library.sought).toEqual(['-2']);
    // Behind the same message of the new topic it commits again.
    await library.handle('0');
    await library.handle('0', '6');
    expect([library.committed, delivered]).toEqual([
      ['7', '7'],
      ['5', '6', '0', '6'],
    ]);
  });

  test('begins anew also where it has read nothing since it joined', async () => {
    library.groupOffset = '5';
    await library.beat();
    library.groupOffset = '-1';
    await library.beat();
    expect(library.sought).toEqual(['-2']);
  });

  test('does not take a group that has committed nothing yet, or a broker that does not answer, for a new topic', async () => {
    await library.beat();
    await library.handle('0');
    await library.handle('0');
    library.meanwhile = () => {
      throw new Error('no answer');
    };
    await library.beat();
    expect([library.sought, library.committed, fatal]).toEqual([['-2'], ['1'], []]);
  });

  test('commits slice by slice, and never behind what it has handed over', async () => {
    library.groupOffset = '5';
    const offsets = Array.from({ length: 1_500 }, (_, n) => String(n + 5));
    await library.handle(...offsets);
    expect(library.committed).toEqual(['1005', '1505']);
  });

  test('whose membership ends in the middle commits and begins nothing more of it', async () => {
    library.groupOffset = '5';
    deliver = ({ executions }) => {
      delivered.push(...executions.map(({ executionId }) => executionId));
      library.join();
      return Promise.resolve('order');
    };
    const offsets = Array.from({ length: 1_500 }, (_, n) => String(n + 5));
    await library.handle(...offsets);
    expect(delivered).toHaveLength(100);
    expect([library.committed, library.resolved]).toEqual([[], []]);
    expect(fatal).toEqual([]);
  });

  test('whose membership ends before a batch is begun begins none of it', async () => {
    library.groupOffset = '5';
    library.meanwhile = () => {
      library.meanwhile = () => undefined;
      library.join();
    };
    await library.handle('5', '6');
    expect([delivered, library.committed, library.resolved]).toEqual([[], [], []]);
  });

  test('never commits behind an execution that Temporal has not accepted', async () => {
    library.groupOffset = '5';
    deliver = () => Promise.reject(new Error('not accepted'));
    await library.handle('5', '6', '7');
    await library.handle('8', '9');
    expect(library.committed).toEqual([]);
    library.join();
    deliver = () => Promise.resolve('order');
    await library.handle('5', '6');
    expect(library.resolved).toEqual(['7', '9', '6']);
  });
});
