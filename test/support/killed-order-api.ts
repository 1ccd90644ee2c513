import { runOrderApi } from '../../src/services/order-api';
import { killPointOfProcess, withKillPoint } from './kill-points';

/** The API with its worker, composed so that it ends itself in the middle of an activity. */
const point = killPointOfProcess();
void runOrderApi((deps) => withKillPoint(deps, point));
