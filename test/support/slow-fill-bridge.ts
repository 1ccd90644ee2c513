import { runFillBridge } from '../../src/services/fill-bridge';

/** Long enough that the deliveries of a slice are under way together. */
const DELAY_MS = 400;

/** Followed by the ids of the executions in whose delivery it freezes. */
export const FREEZES_WITH = 'freezes with ';
/** Temporal has accepted that delivery. */
export const ACCEPTED_LATE = 'accepted late';

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

let freezes = false;
process.on('SIGUSR2', () => {
  freezes = true;
});

/**
 * The fill bridge, composed so that each of its deliveries is under way for a while before Temporal hears of it. After
 * a SIGUSR2 it freezes itself at the next one, so that it is frozen with deliveries under way and never between them.
 */
async function run(): Promise<void> {
  await runFillBridge((ports) => ({
    ...ports,
    deliver: async (batch) => {
      await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
      if (!freezes) return ports.deliver(batch);
      freezes = false;
      say(`${FREEZES_WITH}${JSON.stringify(batch.executions.map(({ executionId }) => executionId))}`);
      process.kill(process.pid, 'SIGSTOP');
      const target = await ports.deliver(batch);
      say(ACCEPTED_LATE);
      return target;
    },
  }));
}

if (require.main === module) void run();
