import { runFillBridge } from '../../src/services/fill-bridge';

/** The fill bridge, composed so that it ends itself after Temporal has accepted and before an offset is committed. */
void runFillBridge((ports) => ({
  ...ports,
  deliver: async (batch) => {
    await ports.deliver(batch);
    process.kill(process.pid, 'SIGKILL');
    // Nothing behind this line runs: the signal ends the process before the promise could resolve.
    await new Promise(() => undefined);
    return 'order';
  },
}));
