import { loadConfig } from '../../src/config';
import { Lifecycle } from '../../src/lifecycle';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics, type Metrics } from '../../src/observability/metrics';
import { startBacklogSampling } from '../../src/services/backlog-sampling';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { waitFor } from '../support/wait-for';

const DAY_SECONDS = 86_400;

let database: TestDatabase;
let lifecycle: Lifecycle;

beforeEach(async () => {
  database = await createTestDatabase();
  lifecycle = new Lifecycle(silentLogger());
});

afterEach(async () => {
  await lifecycle.stop();
  await database.drop();
});

function startSampling(): Metrics {
  const metrics = createMetrics();
  const config = loadConfig({
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    KAFKA_BROKERS: '127.0.0.1:1',
    DEDUP_WINDOW_DAYS: '30',
    SAMPLE_INTERVAL_MS: '20',
  });
  startBacklogSampling(lifecycle, config, metrics, silentLogger());
  return metrics;
}

/** The values that Prometheus would read, by series; the time of a process and its help texts left out. */
async function shown(metrics: Metrics): Promise<Record<string, number>> {
  const lines = (await metrics.registry.metrics()).split('\n');
  const series = lines.filter((line) => /^tekil_(dedup|quarantined_events|parked|sample)\w*[ {]/.test(line));
  return Object.fromEntries(
    series.map((line) => [line.replace(/ \S+$/, ''), Number(/\S+$/.exec(line)?.[0])]),
  );
}

const taken = (metrics: Metrics, sample: string, outcome = 'taken') =>
  waitFor(`the sample ${sample} to be ${outcome}`, async () => {
    const count = (await shown(metrics))[`tekil_samples_total{sample="${sample}",outcome="${outcome}"}`] ?? 0;
    return count > 0;
  });

describe('the sampling of the backlog', () => {
  test('shows an empty database as empty, and by how much the oldest row has outlived the window as zero', async () => {
    const metrics = startSampling();
    await taken(metrics, 'parked');
    expect(await shown(metrics)).toMatchObject({
      'tekil_dedup_rows{table="processed_events"}': 0,
      'tekil_dedup_rows{table="idempotency_keys"}': 0,
      'tekil_dedup_oldest_row_age_seconds{table="processed_events"}': 0,
      'tekil_dedup_purge_lag_seconds{table="processed_events"}': 0,
      'tekil_quarantined_events_open{reason="malformed"}': 0,
      'tekil_quarantined_events_open{reason="conflict"}': 0,
      'tekil_quarantined_events_open{reason="wrong_order"}': 0,
      tekil_quarantined_events_oldest_open_age_seconds: 0,
      tekil_parked_executions_open: 0,
      tekil_parked_executions_oldest_open_age_seconds: 0,
    });
  });

  test('shows a row of 31 days as a day past a window of 30', async () => {
    await database.pool.query(
      `insert into processed_events (source, event_type, event_id, content_hash, event_time, processed_at)
       values ('SIM', 'FILL', '1', sha256('1'), now(), now() - interval '31 days')`,
    );
    const metrics = startSampling();
    await taken(metrics, 'dedup');
    const lag = (await shown(metrics))['tekil_dedup_purge_lag_seconds{table="processed_events"}'];
    expect(Math.abs(lag! - DAY_SECONDS)).toBeLessThan(60);
  });

  test('that cannot measure one thing takes its figures away, says since when, and goes on with the others', async () => {
    const metrics = startSampling();
    await taken(metrics, 'parked');
    const before = await shown(metrics);
    await database.pool.query('alter table processed_events rename to elsewhere');
    await taken(metrics, 'dedup', 'failed');
    await waitFor('the figures to go', async () => {
      const series = Object.keys(await shown(metrics));
      return !series.some((name) =>
        /^tekil_dedup_(rows|oldest_row_age_seconds|purge_lag_seconds)\{/.test(name),
      );
    });
    const after = await shown(metrics);
    const timestamp = (sample: string) => `tekil_sample_timestamp_seconds{sample="${sample}"}`;
    expect(after[timestamp('parked')]).toBeGreaterThan(before[timestamp('parked')]!);
    expect(after).toMatchObject({ tekil_parked_executions_open: 0 });
    expect(after[timestamp('parked')]).toBeGreaterThan(after[timestamp('dedup')]!);
  });
});
