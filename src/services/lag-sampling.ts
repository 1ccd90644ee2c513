import type { Kafka } from 'kafkajs';
import type { Config } from '../config';
import { consumerLagSample } from '../kafka/consumer-lag';
import type { Lifecycle } from '../lifecycle';
import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import { startSampler } from '../observability/sampler';

/** Measures how far the bridge's group is behind, beside its consumer and not in it: a stuck one is seen, too. */
export function startLagSampling(
  lifecycle: Lifecycle,
  config: Config,
  source: { readonly kafka: Kafka; readonly topic: string },
  metrics: Metrics,
  logger: Logger,
): void {
  const options = { topic: source.topic, groupId: config.KAFKA_EXECUTIONS_GROUP_ID };
  const { sample, close } = consumerLagSample(source.kafka, options, metrics);
  lifecycle.started('lag connection', close);
  const sampler = startSampler([sample], config.SAMPLE_INTERVAL_MS, metrics, logger);
  lifecycle.started('lag sampler', () => sampler.stop());
}
