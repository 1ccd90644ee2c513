import { runFillBridge } from '../../src/services/fill-bridge';

/** Long against the time in which a test freezes it, so that it is always frozen with deliveries under way. */
const DELAY_MS = 400;

/** The fill bridge, composed so that each of its deliveries is under way for a while before Temporal hears of it. */
void runFillBridge((ports) => ({
  ...ports,
  deliver: async (batch) => {
    await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
    return ports.deliver(batch);
  },
}));
