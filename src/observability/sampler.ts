import type { Logger } from './logger';
import type { Metrics } from './metrics';

/** Something that no event tells of, so that it has to be measured now and then. */
export interface Sample {
  /** The label of its metrics. */
  readonly name: string;
  /** Measures and sets the gauges; ends within a deadline of its own, and rejects when it could not measure. */
  readonly take: () => Promise<void>;
  /** Takes the gauges away, because what they show is no longer true enough. */
  readonly forget: () => void;
}

/** An old value is better than none for so many intervals, so that one slow answer leaves no hole in a graph. */
const MAX_AGE_INTERVALS = 4;

/**
 * Takes the samples one after the other, again and again, with a pause of `intervalMs` behind each round: two rounds
 * never overlap, and a database that is slow is asked less often. A sample that fails is counted and holds up no
 * other; when it has failed for too long its gauges are taken away instead of showing the past.
 * `stop` waits for the sample that is being taken.
 */
export function startSampler(
  samples: readonly Sample[],
  intervalMs: number,
  metrics: Metrics,
  logger: Logger,
): { readonly stop: () => Promise<void> } {
  let stopping = false;
  let wake: () => void = () => undefined;
  const mayGoOn = (): boolean => !stopping;
  const tracked = samples.map((sample) => track(sample, intervalMs * MAX_AGE_INTERVALS, metrics, logger));
  const run = async (): Promise<void> => {
    while (mayGoOn()) {
      for (const takeOnce of tracked) if (mayGoOn()) await takeOnce();
      if (mayGoOn()) await pause();
    }
  };
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, intervalMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const running = run();
  return {
    stop: async () => {
      stopping = true;
      wake();
      await running;
    },
  };
}

/** One sample with its bookkeeping; the result never rejects. */
function track(sample: Sample, maxAgeMs: number, metrics: Metrics, logger: Logger): () => Promise<void> {
  const { name } = sample;
  let takenAt = performance.now();
  metrics.sampleTimestampSeconds.setToCurrentTime({ sample: name });
  return async () => {
    try {
      await sample.take();
      takenAt = performance.now();
      metrics.sampleTimestampSeconds.setToCurrentTime({ sample: name });
      metrics.samplesTaken.inc({ sample: name, outcome: 'taken' });
    } catch (error) {
      metrics.samplesTaken.inc({ sample: name, outcome: 'failed' });
      logger.warn({ err: error, sample: name }, 'a sample for the metrics could not be taken');
      if (performance.now() - takenAt > maxAgeMs) sample.forget();
    }
  };
}
