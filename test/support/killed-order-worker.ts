import { runOrderWorker } from '../../src/services/order-worker';
import { killPointOfProcess, withKillPoint } from './kill-points';

/** The order worker, composed so that it ends itself in the middle of an activity. */
const point = killPointOfProcess();
void runOrderWorker((deps) => withKillPoint(deps, point));
