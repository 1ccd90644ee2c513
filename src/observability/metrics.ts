import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * Every metric of Tekil, declared in this one file; docs/metrics.md explains each, and a test holds the two together.
 * A process creates one set and hands it to its parts.
 */
export interface Metrics {
  readonly registry: Registry;

  readonly ordersAnswered: Counter<'outcome' | 'code'>;
  readonly duplicateOrders: Counter<'outcome'>;
  readonly orderAnswerSeconds: Histogram<'outcome'>;
  readonly httpRequestSeconds: Histogram<'route' | 'method' | 'status'>;
  readonly gateRequests: Counter<'verdict' | 'code'>;
  readonly gateRequestSeconds: Histogram;
  readonly unacknowledgedOrders: Counter;

  readonly executionsApplied: Counter<'source' | 'type'>;
  readonly duplicateExecutions: Counter<'source' | 'type'>;
  readonly conflictingExecutions: Counter<'source' | 'type'>;
  readonly outsideWindowExecutions: Counter<'source' | 'type'>;
  readonly parkedExecutions: Counter<'source' | 'type'>;
  readonly quarantinedEvents: Counter<'reason'>;
  readonly overfilledOrders: Counter;
  readonly surprisingExecutions: Counter<'type' | 'status'>;

  readonly bridgeMessages: Counter<'verdict'>;
  readonly bridgeSignals: Counter<'target'>;
  readonly bridgeBatchSeconds: Histogram;
  readonly bridgeRetries: Counter<'cause'>;

  readonly venueCommands: Counter<'command'>;

  readonly quotePackets: Counter<'feed' | 'outcome'>;
  readonly quoteTicks: Counter<'feed' | 'outcome'>;
  readonly quoteTicksLost: Counter<'feed'>;
  readonly quoteHeartbeats: Counter<'feed' | 'outcome'>;
  readonly quoteSessions: Counter<'feed'>;
  readonly gateVerdicts: Counter<'verdict' | 'code'>;
  readonly quoteClockOffsetMs: Gauge<'feed'>;
}

const LATENCY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A fresh set on a registry of its own. `processMetrics` adds memory, CPU and event-loop figures of Node. */
export function createMetrics(options: { readonly processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.processMetrics === true) collectDefaultMetrics({ register: registry });
  const counter = <L extends string = never>(name: string, help: string, labelNames: L[] = []): Counter<L> =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const histogram = <L extends string = never>(
    name: string,
    help: string,
    labelNames: L[] = [],
  ): Histogram<L> =>
    new Histogram({ name, help, labelNames, buckets: LATENCY_SECONDS, registers: [registry] });
  return {
    registry,
    ...orderMetrics(counter, histogram),
    ...executionMetrics(counter),
    ...bridgeMetrics(counter, histogram),
    ...quoteMetrics(counter),
    quoteClockOffsetMs: new Gauge({
      name: 'tekil_quote_clock_offset_milliseconds',
      help: 'Measured clock offset of the feed: sliding minimum of arrival minus source time',
      labelNames: ['feed'],
      registers: [registry],
    }),
  };
}

type MakeCounter = <L extends string = never>(name: string, help: string, labelNames?: L[]) => Counter<L>;
type MakeHistogram = <L extends string = never>(name: string, help: string, labelNames?: L[]) => Histogram<L>;

function orderMetrics(counter: MakeCounter, histogram: MakeHistogram) {
  return {
    ordersAnswered: counter('tekil_orders_answered_total', 'First answers given to order submissions', [
      'outcome',
      'code',
    ]),
    duplicateOrders: counter(
      'tekil_duplicate_orders_total',
      'Repeated order submissions: replayed, or refused for another body',
      ['outcome'],
    ),
    orderAnswerSeconds: histogram('tekil_order_answer_seconds', 'From the request to its answer', [
      'outcome',
    ]),
    httpRequestSeconds: histogram('tekil_http_request_seconds', 'HTTP requests by route', [
      'route',
      'method',
      'status',
    ]),
    gateRequests: counter('tekil_gate_requests_total', 'Answers of the quote gate to the order path', [
      'verdict',
      'code',
    ]),
    gateRequestSeconds: histogram('tekil_gate_request_seconds', 'Round trip to the quote gate'),
    unacknowledgedOrders: counter(
      'tekil_unacknowledged_orders_total',
      'Orders that the venue said nothing about in time',
    ),
    venueCommands: counter('tekil_venue_commands_total', 'Commands published to the venue', ['command']),
  };
}

function executionMetrics(counter: MakeCounter) {
  return {
    executionsApplied: counter('tekil_executions_applied_total', 'Executions applied for the first time', [
      'source',
      'type',
    ]),
    duplicateExecutions: counter(
      'tekil_duplicate_executions_total',
      'Executions that came again and changed nothing',
      ['source', 'type'],
    ),
    conflictingExecutions: counter(
      'tekil_conflicting_executions_total',
      'Known execution ids that came with other content',
      ['source', 'type'],
    ),
    outsideWindowExecutions: counter(
      'tekil_outside_window_executions_total',
      'Repeats caught by the fills constraint after their dedup row was purged',
      ['source', 'type'],
    ),
    parkedExecutions: counter(
      'tekil_parked_executions_total',
      'Executions of an order that does not exist here yet',
      ['source', 'type'],
    ),
    quarantinedEvents: counter('tekil_quarantined_events_total', 'Events put aside for a person to decide', [
      'reason',
    ]),
    overfilledOrders: counter('tekil_overfilled_orders_total', 'Orders filled for more than they asked'),
    surprisingExecutions: counter(
      'tekil_surprising_executions_total',
      'Executions of orders that were already closed',
      ['type', 'status'],
    ),
  };
}

function bridgeMetrics(counter: MakeCounter, histogram: MakeHistogram) {
  return {
    bridgeMessages: counter('tekil_bridge_messages_total', 'Messages read from the executions topic', [
      'verdict',
    ]),
    bridgeSignals: counter('tekil_bridge_signals_total', 'Signals accepted by Temporal', ['target']),
    bridgeBatchSeconds: histogram(
      'tekil_bridge_batch_seconds',
      'From a fetched batch to its resolved offsets',
    ),
    bridgeRetries: counter(
      'tekil_bridge_retries_total',
      'Batches held back because a server did not answer',
      ['cause'],
    ),
  };
}

function quoteMetrics(counter: MakeCounter) {
  return {
    quotePackets: counter('tekil_quote_packets_total', 'Datagrams received, by what became of them', [
      'feed',
      'outcome',
    ]),
    quoteTicks: counter('tekil_quote_ticks_total', 'Quote ticks, by what became of them', [
      'feed',
      'outcome',
    ]),
    quoteTicksLost: counter('tekil_quote_ticks_lost_total', 'Ticks whose numbers were passed over', ['feed']),
    quoteHeartbeats: counter('tekil_quote_heartbeats_total', 'Heartbeats, by what they showed', [
      'feed',
      'outcome',
    ]),
    quoteSessions: counter('tekil_quote_sessions_total', 'New sessions begun by the feed', ['feed']),
    gateVerdicts: counter('tekil_gate_verdicts_total', 'Verdicts given by the quote gate', [
      'verdict',
      'code',
    ]),
  };
}
