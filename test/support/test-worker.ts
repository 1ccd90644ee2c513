import type { Worker } from '@temporalio/worker';

/** Workers of a test, which end with it. */
export interface RunningWorkers {
  /** Runs it until its `stop`, or until all are stopped. */
  readonly run: (worker: Worker) => { readonly stop: () => Promise<void> };
  readonly stopAll: () => Promise<void>;
}

export function runningWorkers(): RunningWorkers {
  const running = new Set<() => Promise<void>>();
  return {
    run: (worker) => {
      const done = worker.run();
      const stop = async (): Promise<void> => {
        running.delete(stop);
        if (worker.getState() === 'RUNNING') worker.shutdown();
        await done;
      };
      running.add(stop);
      return { stop };
    },
    stopAll: async () => {
      for (const stop of running) await stop();
    },
  };
}
