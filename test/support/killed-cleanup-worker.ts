import { runOrderWorker } from '../../src/services/order-worker';

/**
 * The order worker, composed so that it ends itself, as a power cut would, in or after the third batch of the cleanup: the
 * second of dedup rows, since the tables take turns.
 */
const point = process.env['TEKIL_TEST_KILL_POINT'];
if (point !== 'in-a-batch' && point !== 'between-batches') {
  throw new Error('TEKIL_TEST_KILL_POINT must be in-a-batch or between-batches');
}

const KILLED_AT = 3;
let batches = 0;

function dieInTime(): void {
  batches += 1;
  if (batches === KILLED_AT) process.kill(process.pid, 'SIGKILL');
}

void runOrderWorker(undefined, (deps) =>
  point === 'in-a-batch'
    ? { ...deps, session: { ...deps.session, beforeCommit: dieInTime } }
    : { ...deps, afterBatch: dieInTime },
);
