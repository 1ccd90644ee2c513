import { silentLogger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import { startSampler, type Sample } from '../../src/observability/sampler';
import { waitFor } from '../support/wait-for';

const INTERVAL_MS = 5;

/** Whatever a failed test left running. */
const running = new Set<{ readonly stop: () => Promise<void> }>();

afterEach(async () => {
  for (const sampler of running) await sampler.stop();
  running.clear();
});

function setup(take: () => Promise<void>) {
  const metrics = createMetrics();
  let forgotten = 0;
  const sample: Sample = {
    name: 'dedup',
    take,
    forget: () => {
      forgotten += 1;
    },
  };
  return {
    metrics,
    sample,
    forgotten: () => forgotten,
    start: (...others: Sample[]) => {
      const sampler = startSampler([sample, ...others], INTERVAL_MS, metrics, silentLogger());
      running.add(sampler);
      return sampler;
    },
    counted: async (outcome: string) => {
      const { values } = await metrics.samplesTaken.get();
      return values.find(({ labels }) => labels.outcome === outcome && labels.sample === 'dedup')?.value ?? 0;
    },
    takenAt: async () => (await metrics.sampleTimestampSeconds.get()).values[0]?.value,
  };
}

const failing = () => Promise.reject(new Error('no answer'));

describe('the sampler', () => {
  test('takes a sample again and again, counts it and says when it was taken', async () => {
    let taken = 0;
    const bench = setup(() => {
      taken += 1;
      return Promise.resolve();
    });
    const before = Date.now() / 1_000;
    const sampler = bench.start();
    await waitFor('three samples', () => taken >= 3);
    await sampler.stop();
    expect(await bench.counted('taken')).toBe(taken);
    expect(await bench.takenAt()).toBeGreaterThanOrEqual(before);
    expect(bench.forgotten()).toBe(0);
  });

  test('never takes one while another is being taken', async () => {
    let inside = 0;
    let most = 0;
    let rounds = 0;
    const slow = async (): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS * 4));
      inside -= 1;
      rounds += 1;
    };
    const bench = setup(slow);
    const sampler = bench.start({ name: 'parked', take: slow, forget: () => undefined });
    await waitFor('two rounds of two', () => rounds >= 4);
    await sampler.stop();
    expect(most).toBe(1);
    expect(inside).toBe(0);
  });

  test('counts one that fails, keeps the time of the last that did not, and goes on with the others', async () => {
    let others = 0;
    const bench = setup(failing);
    const sampler = bench.start({
      name: 'parked',
      take: () => Promise.resolve(void (others += 1)),
      forget: () => undefined,
    });
    const startedAt = await bench.takenAt();
    await waitFor('the other sample', () => others >= 3);
    await sampler.stop();
    expect(await bench.counted('failed')).toBe(others);
    expect(await bench.counted('taken')).toBe(0);
    expect(await bench.takenAt()).toBe(startedAt);
  });

  test('keeps the gauges over one failure, and takes them away when the last value is too old', async () => {
    let calls = 0;
    let forgottenAtFirstFailure = -1;
    const bench = setup(() => {
      calls += 1;
      if (calls === 3) forgottenAtFirstFailure = bench.forgotten();
      return calls === 1 ? Promise.resolve() : failing();
    });
    const sampler = bench.start();
    await waitFor('the gauges to be taken away', () => bench.forgotten() > 0);
    await sampler.stop();
    expect(forgottenAtFirstFailure).toBe(0);
  });

  test('stops at once between two rounds', async () => {
    const bench = setup(() => Promise.resolve());
    const sampler = startSampler([bench.sample], 3_600_000, bench.metrics, silentLogger());
    await waitFor('the first sample', async () => (await bench.counted('taken')) === 1);
    const before = performance.now();
    await sampler.stop();
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});

describe('a sampled gauge', () => {
  test('is absent until it is measured, with labels and without', async () => {
    const { registry, parkedExecutionsOpen, dedupRows } = createMetrics();
    expect(await registry.metrics()).not.toMatch(/^tekil_(parked_executions_open|dedup_rows)\b/m);
    parkedExecutionsOpen.set(0);
    dedupRows.set({ table: 'processed_events' }, 7);
    expect(await registry.metrics()).toMatch(/^tekil_parked_executions_open 0$/m);
    expect(await registry.metrics()).toMatch(/^tekil_dedup_rows\{table="processed_events"\} 7$/m);
    parkedExecutionsOpen.remove();
    expect(await registry.metrics()).not.toMatch(/^tekil_parked_executions_open\b/m);
  });
});
