import fc from 'fast-check';
import { PartitionProgress } from '../../src/kafka/partition-progress';

const SLICE = 7;

/** What the reader does next, with what becomes of each message of the slice that it reads. */
const aStep = fc.record({
  does: fc.constantFrom(
    'read' as const,
    'read' as const,
    'read' as const,
    'retry' as const,
    'restart' as const,
  ),
  outcomes: fc.array(fc.boolean(), { minLength: SLICE, maxLength: SLICE }),
});

test('whatever fails and however it is read again, nothing open is passed over, and nothing is done twice by one member', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(200), { minLength: 1, maxLength: 60 }),
      fc.array(aStep, { maxLength: 60 }),
      (numbers, steps) => {
        const topic = numbers.toSorted((a, b) => a - b).map((number) => ({ offset: String(number) }));
        const done = new Set<string>();
        let doneByThisMember = new Set<string>();
        let progress = new PartitionProgress();
        let position = 0;
        let committed = 0;

        const read = (outcomes: readonly boolean[]): void => {
          const slice = topic.slice(position, position + SLICE);
          if (slice[0] === undefined) return;
          progress.startAt(slice[0].offset);
          const offsets = slice.map(({ offset }) => offset);
          const known = offsets.filter((offset) => progress.isDone(offset));
          expect(known).toEqual(offsets.filter((offset) => doneByThisMember.has(offset)));
          const settled = new Set(known);
          slice.forEach(({ offset }, index) => {
            if (outcomes[index] === true) settled.add(offset);
          });
          for (const offset of settled) {
            done.add(offset);
            doneByThisMember.add(offset);
          }
          progress.record(slice, settled);
          position += slice.length;
          const { firstOpen } = progress;
          committed =
            firstOpen === undefined ? position : topic.findIndex(({ offset }) => offset === firstOpen);
          expect(topic.slice(0, committed).filter(({ offset }) => !done.has(offset))).toEqual([]);
        };

        const retry = (): void => {
          const { firstOpen } = progress;
          if (firstOpen !== undefined) position = topic.findIndex(({ offset }) => offset === firstOpen);
        };

        for (const { does, outcomes } of steps) {
          if (does === 'read') read(outcomes);
          else if (does === 'retry') retry();
          else {
            progress = new PartitionProgress();
            doneByThisMember = new Set();
            position = committed;
          }
        }
        // When nothing fails any more, one retry and one reading to the end leave nothing open.
        retry();
        while (position < topic.length) read(Array<boolean>(SLICE).fill(true));
        expect([done.size, committed, progress.firstOpen]).toEqual([topic.length, topic.length, undefined]);
      },
    ),
    { numRuns: 3_000 },
  );
});
