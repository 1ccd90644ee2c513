import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

type Kind = 'counter' | 'tallied' | 'histogram' | 'sampled';

interface Declared<K extends Kind, L extends string> {
  readonly kind: K;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
}

function declare<K extends Kind>(kind: K) {
  return <L extends string = never>(name: string, help: string, ...labelNames: L[]): Declared<K, L> => ({
    kind,
    name,
    help,
    labelNames,
  });
}

const counter = declare('counter');
/** A counter whose hot loop counts in its own memory, until it is read. */
const tallied = declare('tallied');
const histogram = declare('histogram');
/** A gauge that is measured now and then: absent where it was not measured, and again when that is too long ago. */
const sampled = declare('sampled');

/** Every metric of Tekil. docs/metrics.md explains each, and a test holds the two together. */
const METRICS = {
  // Orders.
  ordersAnswered: counter(
    'tekil_orders_answered_total',
    'First answers given to order submissions',
    'outcome',
    'code',
  ),
  duplicateOrders: counter(
    'tekil_duplicate_orders_total',
    'Repeated order submissions: replayed, or refused for another body',
    'outcome',
  ),
  orderAnswerSeconds: histogram('tekil_order_answer_seconds', 'From the request to its answer', 'outcome'),
  httpRequestSeconds: histogram(
    'tekil_http_request_seconds',
    'HTTP requests by route',
    'route',
    'method',
    'status',
  ),
  gateRequests: counter(
    'tekil_gate_requests_total',
    'Answers of the quote gate to the order path',
    'verdict',
    'code',
  ),
  gateRequestSeconds: histogram('tekil_gate_request_seconds', 'Round trip to the quote gate'),
  unacknowledgedOrders: counter(
    'tekil_unacknowledged_orders_total',
    'Orders that the venue said nothing about in time',
  ),
  venueCommands: counter('tekil_venue_commands_total', 'Commands published to the venue', 'command'),

  // Executions, as the transaction judges them.
  executionsApplied: counter(
    'tekil_executions_applied_total',
    'Executions applied for the first time',
    'source',
    'type',
  ),
  duplicateExecutions: counter(
    'tekil_duplicate_executions_total',
    'Executions that came again and changed nothing',
    'source',
    'type',
  ),
  conflictingExecutions: counter(
    'tekil_conflicting_executions_total',
    'Known execution ids that came with other content',
    'source',
    'type',
  ),
  outsideWindowExecutions: counter(
    'tekil_outside_window_executions_total',
    'Repeats caught by the fills constraint after their dedup row was purged',
    'source',
    'type',
  ),
  parkedExecutions: counter(
    'tekil_parked_executions_total',
    'Executions of an order that does not exist here yet',
    'source',
    'type',
  ),
  quarantinedEvents: counter(
    'tekil_quarantined_events_total',
    'Events put aside for a person to decide',
    'reason',
  ),
  overfilledOrders: counter('tekil_overfilled_orders_total', 'Orders filled for more than they asked'),
  surprisingExecutions: counter(
    'tekil_surprising_executions_total',
    'Executions of orders that were already closed',
    'type',
    'status',
  ),

  // The bridge.
  bridgeMessages: counter(
    'tekil_bridge_messages_total',
    'Messages read from the executions topic',
    'verdict',
  ),
  bridgeSignals: counter('tekil_bridge_signals_total', 'Signals accepted by Temporal', 'target'),
  bridgeBatchSeconds: histogram('tekil_bridge_batch_seconds', 'From a fetched batch to its resolved offsets'),
  bridgeRetries: counter(
    'tekil_bridge_retries_total',
    'Retries of what was not done: a server did not answer, or orders failed or were slow',
    'cause',
  ),

  // Quotes and the gate.
  quotePackets: tallied(
    'tekil_quote_packets_total',
    'Datagrams received, by what became of them',
    'feed',
    'outcome',
  ),
  quoteTicks: tallied('tekil_quote_ticks_total', 'Quote ticks, by what became of them', 'feed', 'outcome'),
  quoteTicksLost: tallied('tekil_quote_ticks_lost_total', 'Ticks whose numbers were passed over', 'feed'),
  quoteHeartbeats: tallied(
    'tekil_quote_heartbeats_total',
    'Heartbeats, by what they showed',
    'feed',
    'outcome',
  ),
  quoteSessions: tallied('tekil_quote_sessions_total', 'New sessions begun by the feed', 'feed'),
  gateVerdicts: tallied('tekil_gate_verdicts_total', 'Verdicts given by the quote gate', 'verdict', 'code'),
  quoteClockOffsetMs: sampled(
    'tekil_quote_clock_offset_milliseconds',
    'Measured clock offset of the feed: sliding minimum of arrival minus source time',
    'feed',
  ),

  // The lines of a feed, and repairs.
  quoteClockDrifts: tallied('tekil_quote_clock_drifts_total', 'Moves of the clock offset', 'feed'),
  quoteLinePackets: tallied(
    'tekil_quote_line_packets_total',
    'Datagrams of a line, by what they brought',
    'feed',
    'line',
    'outcome',
  ),
  quoteLineAlive: sampled('tekil_quote_line_alive', 'Has the line spoken lately? 1 or 0', 'feed', 'line'),
  quoteContentConflicts: tallied(
    'tekil_quote_content_conflicts_total',
    'Packets with a number that another line had given to other content',
    'feed',
  ),
  quoteBufferOverflows: tallied(
    'tekil_quote_buffer_overflows_total',
    'Gaps declared early because too many packets waited behind them',
    'feed',
  ),
  quoteRecoveryRequests: tallied(
    'tekil_quote_recovery_requests_total',
    'Requests to the re-request server',
    'feed',
  ),
  quoteRecovered: tallied(
    'tekil_quote_recovered_total',
    'Missing messages that were brought by a repair',
    'feed',
  ),
  quoteRepairsGivenUp: tallied(
    'tekil_quote_repairs_given_up_total',
    'Repairs that ended without success',
    'feed',
    'cause',
  ),

  // Feeds over WebSocket.
  quoteStreamFrames: counter(
    'tekil_quote_stream_frames_total',
    'Frames of a WebSocket feed, by what they were',
    'feed',
    'outcome',
  ),
  quoteStreamConnections: counter(
    'tekil_quote_stream_connections_total',
    'Connections of a WebSocket feed: opened, and how they ended',
    'feed',
    'outcome',
  ),
  quoteSnapshots: counter(
    'tekil_quote_snapshots_total',
    'Snapshots asked for, by how that ended',
    'feed',
    'outcome',
  ),
  quoteResyncs: counter(
    'tekil_quote_resyncs_total',
    'Books that had to be built anew, by why',
    'feed',
    'cause',
  ),

  // Measured now and then by one process.
  bridgeLagMessages: sampled(
    'tekil_bridge_lag_messages',
    'Messages of the executions topic behind the committed offset of the group',
    'partition',
  ),
  bridgeCommittedOffset: sampled(
    'tekil_bridge_committed_offset',
    'The offset from which the group would read on after a restart',
    'partition',
  ),
  dedupRows: sampled('tekil_dedup_rows', 'Rows of the dedup tables, as PostgreSQL estimates them', 'table'),
  dedupOldestRowAgeSeconds: sampled(
    'tekil_dedup_oldest_row_age_seconds',
    'Age of the oldest dedup row',
    'table',
  ),
  dedupPurgeLagSeconds: sampled(
    'tekil_dedup_purge_lag_seconds',
    'By how much the oldest dedup row has outlived the window; zero while none has',
    'table',
  ),
  quarantinedEventsOpen: sampled(
    'tekil_quarantined_events_open',
    'Events in quarantine that nobody has decided about, counted up to a bound',
    'reason',
  ),
  quarantineOldestAgeSeconds: sampled(
    'tekil_quarantined_events_oldest_open_age_seconds',
    'How long the oldest event in quarantine has waited for a decision; zero when none does',
  ),
  parkedExecutionsOpen: sampled(
    'tekil_parked_executions_open',
    'Executions that wait for their order, counted up to a bound',
  ),
  parkedOldestAgeSeconds: sampled(
    'tekil_parked_executions_oldest_open_age_seconds',
    'How long the oldest parked execution has waited for its order; zero when none does',
  ),
  samplesTaken: counter(
    'tekil_samples_total',
    'Measurements of the gauges that are taken now and then',
    'sample',
    'outcome',
  ),
  sampleTimestampSeconds: sampled(
    'tekil_sample_timestamp_seconds',
    'When a sample was last taken, or its process started; Unix time',
    'sample',
  ),

  // Activities, as Temporal runs them.
  activityRetries: counter(
    'tekil_activity_retries_total',
    'Attempts of activities that were not the first one',
    'activity',
  ),
  activityFailures: counter(
    'tekil_activity_failures_total',
    'Attempts of activities that failed, local ones included',
    'activity',
    'type',
  ),

  // The cleanup, and the verification of positions.
  dedupRowsPurged: counter(
    'tekil_dedup_rows_purged_total',
    'Rows deleted because they were past their window',
    'table',
  ),
  dedupPurgeRuns: counter(
    'tekil_dedup_purge_runs_total',
    'Attempts of the cleanup, by how they ended',
    'outcome',
  ),
  dedupPurgeBatchSeconds: histogram('tekil_dedup_purge_batch_seconds', 'One batch of the cleanup'),
  dedupGuardRefusing: sampled(
    'tekil_dedup_guard_refusing',
    '1 while the window is shorter than what the broker keeps, so that nothing is deleted; 0 while it is not',
  ),
  positionsDiffering: sampled(
    'tekil_positions_differing',
    'Positions that were not what their fills give, in the last complete verification',
  ),
  positionsVerifiedTimestamp: sampled(
    'tekil_positions_verified_timestamp_seconds',
    'When the last complete verification of all positions ended; Unix time',
  ),
  positionsVerifications: counter(
    'tekil_positions_verifications_total',
    'Complete verifications of all positions',
    'outcome',
  ),
  operatorDecisions: counter(
    'tekil_operator_decisions_total',
    'Decisions about executions that were set aside',
    'decision',
    'outcome',
  ),
} as const;

type MetricOf<D> =
  D extends Declared<'counter' | 'tallied', infer L>
    ? Counter<L>
    : D extends Declared<'histogram', infer L>
      ? Histogram<L>
      : D extends Declared<'sampled', infer L>
        ? Gauge<L>
        : never;

/** A process creates one set and hands it to its parts. */
export type Metrics = { readonly [N in keyof typeof METRICS]: MetricOf<(typeof METRICS)[N]> } & {
  readonly registry: Registry;
  /** Lets `work` run before a metric of the quotes is read. */
  readonly beforeQuotesAreRead: (work: () => void) => void;
};

const LATENCY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A fresh set on a registry of its own. `processMetrics` adds memory, CPU and event-loop figures of Node. */
export function createMetrics(options: { readonly processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.processMetrics === true) collectDefaultMetrics({ register: registry });
  const tallies: (() => void)[] = [];
  const collect = (): void => {
    for (const hand of tallies) hand();
  };
  const made = Object.entries(METRICS).map(([key, declared]) => [key, make(declared, registry, collect)]);
  return {
    ...(Object.fromEntries(made) as { [N in keyof typeof METRICS]: MetricOf<(typeof METRICS)[N]> }),
    registry,
    beforeQuotesAreRead: (work) => void tallies.push(work),
  };
}

function make(
  { kind, name, help, labelNames }: Declared<Kind, string>,
  registry: Registry,
  collect: () => void,
): Counter | Gauge | Histogram {
  const shape = { name, help, labelNames: [...labelNames], registers: [registry] };
  switch (kind) {
    case 'counter':
      return new Counter(shape);
    case 'tallied':
      return new Counter({ ...shape, collect });
    case 'histogram':
      return new Histogram({ ...shape, buckets: LATENCY_SECONDS });
    case 'sampled': {
      const gauge = new Gauge(shape);
      // A gauge without labels is born as zero, which would claim that there is nothing. Until it is measured it is absent.
      if (labelNames.length === 0) gauge.remove();
      return gauge;
    }
  }
}
