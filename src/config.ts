import { z } from 'zod';

/** The only reader of the environment. Every variable, its default and its meaning; .env.example lists the same. */

const port = z.coerce.number().int().min(0).max(65_535);
const positiveInt = z.coerce.number().int().positive();
const onOff = z.enum(['on', 'off']).transform((value) => value === 'on');
const hostAndPort = z.string().regex(/^[^\s:]+:\d+$/, 'must be host:port');

const environment = z.object({
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must start with postgres://'),
  DATABASE_POOL_SIZE: positiveInt.default(16),
  DATABASE_STATEMENT_TIMEOUT_MS: positiveInt.default(5_000),
  DATABASE_CONNECT_TIMEOUT_MS: positiveInt.default(2_000),

  TEMPORAL_ADDRESS: hostAndPort,
  TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
  TEMPORAL_TASK_QUEUE: z.string().min(1).default('tekil-orders'),
  /** Stands before the ids of the schedules; lets several installations share a namespace. */
  TEMPORAL_SCHEDULE_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{0,64}$/, 'must be letters, digits, dots, underscores or hyphens')
    .default(''),
  TEMPORAL_RPC_TIMEOUT_MS: positiveInt.default(3_000),

  KAFKA_BROKERS: z
    .string()
    .transform((text) => text.split(',').map((broker) => broker.trim()))
    .pipe(z.array(hostAndPort).min(1)),
  KAFKA_TOPIC_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{0,64}$/, 'must be letters, digits, dots, underscores or hyphens')
    .default(''),
  KAFKA_EXECUTIONS_GROUP_ID: z.string().min(1).default('tekil-fill-bridge'),
  KAFKA_PARTITIONS: positiveInt.default(6),
  KAFKA_REPLICATION_FACTOR: positiveInt.default(1),
  KAFKA_REQUEST_TIMEOUT_MS: positiveInt.default(5_000),
  /** For one venue command; below the time that a local activity has. */
  KAFKA_PUBLISH_TIMEOUT_MS: positiveInt.default(1_800),

  API_HOST: z.string().default('127.0.0.1'),
  API_PORT: port.default(8080),
  API_BODY_LIMIT_BYTES: positiveInt.default(16_384),
  API_ANSWER_DEADLINE_MS: positiveInt.default(5_000),
  ORDER_API_WORKER: onOff.default(true),

  /** Health and metrics; 0 picks a free port. */
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: port.default(0),
  /** Of the gauges that are measured now and then. */
  SAMPLE_INTERVAL_MS: positiveInt.default(15_000),
  /** On ADMIN_HOST, the Temporal SDK's own metrics; of order-api and order-worker. Off when it is not set. */
  TEMPORAL_METRICS_PORT: port.min(1).optional(),

  ORDER_ACCEPT_WINDOW_MS: positiveInt.default(10_000),
  VENUE_ACK_TIMEOUT_MS: positiveInt.default(30_000),
  /** An order's run continues as a new one after so many signals. */
  ORDER_MAX_SIGNALS_PER_RUN: positiveInt.max(9_000).default(2_000),
  WORKFLOW_TASK_TIMEOUT_MS: positiveInt.default(3_000),
  WORKFLOW_BUNDLE_PATH: z.string().optional(),
  WORKER_SHUTDOWN_GRACE_MS: positiveInt.default(5_000),
  WORKER_SHUTDOWN_FORCE_MS: positiveInt.default(8_000),

  /** How long a dedup row lives; at least what the broker keeps, plus what dead letters are held for. */
  DEDUP_WINDOW_DAYS: positiveInt.max(3_650).default(30),
  /** How long the key of an order lives after the order has ended and nothing more has happened to it. */
  DEDUP_KEY_WINDOW_DAYS: positiveInt.max(3_650).default(30),
  DEDUP_PURGE_BATCH_ROWS: positiveInt.max(100_000).default(10_000),
  /** Of each table, in one run of the cleanup. */
  DEDUP_PURGE_MAX_BATCHES: positiveInt.default(500),
  DEDUP_PURGE_PAUSE_MS: positiveInt.max(10_000).default(50),

  BRIDGE_PARALLEL_ORDERS: positiveInt.default(16),
  BRIDGE_MAX_BACKOFF_MS: positiveInt.default(10_000),

  /** Of quote-health; several instances with commas between them. */
  QUOTE_GATE_URL: z
    .string()
    .refine(
      (text) => text.split(',').every((each) => /^https?:\/\/[^/\s]/.test(each.trim()) && URL.canParse(each)),
      {
        error: 'must be an http:// or https:// address, or several with commas between them',
      },
    )
    .default('http://127.0.0.1:8090'),
  QUOTE_GATE_TIMEOUT_MS: positiveInt.default(250),
  GATE_HOST: z.string().default('127.0.0.1'),
  GATE_PORT: port.default(8090),
  QUOTE_FEED_HOST: z.string().default('127.0.0.1'),
  QUOTE_FEED_PORT: port.default(9100),
  QUOTE_FEED_NAME: z.string().min(1).default('simulated'),
  /** Does a tick carry the whole price (full) or a change to it (delta)? */
  QUOTE_FEED_KIND: z.enum(['full', 'delta']).default('full'),
  QUOTE_HEARTBEAT_SEQUENCE: z.enum(['next', 'last', 'consumes']).default('next'),
  QUOTE_MAX_SILENCE_MS: positiveInt.default(1_000),
  QUOTE_MAX_SOURCE_AGE_MS: positiveInt.default(2_000),
  QUOTE_MAX_CLOCK_OFFSET_MS: positiveInt.default(500),
  /** An offset that moves by more within five minutes is an alarm. */
  QUOTE_MAX_CLOCK_DRIFT_MS: positiveInt.default(100),
  QUOTE_FEED_GROUP: z.ipv4().optional(),
  /** A second line with the same numbers; there is none when it is not set. */
  QUOTE_FEED_B_PORT: port.optional(),
  /** QUOTE_FEED_HOST when it is not set. */
  QUOTE_FEED_B_HOST: z.string().optional(),
  QUOTE_FEED_B_GROUP: z.ipv4().optional(),
  /** So long one line may be behind the other before a gap is a gap. */
  QUOTE_GAP_WINDOW_MS: positiveInt.default(20),
  /** The re-request server of the feed; what is missed stays missed when it is not set. */
  QUOTE_REREQUEST_PORT: port.min(1).optional(),
  /** QUOTE_FEED_HOST when it is not set. */
  QUOTE_REREQUEST_HOST: z.string().optional(),
  QUOTE_REREQUEST_TIMEOUT_MS: positiveInt.default(250),
  QUOTE_REREQUEST_ATTEMPTS: positiveInt.default(3),
  /** `udp`: the feed of the QUOTE_FEED variables; `binance`: that of the BINANCE variables. */
  QUOTE_SOURCE: z.enum(['udp', 'binance']).default('udp'),
  /** Of the UDP feed: `tekil`, or the path of a module; docs/quote-decoders.md. */
  QUOTE_DECODER: z.string().min(1).default('tekil'),
  BINANCE_STREAM: z.enum(['spot-depth', 'futures-depth', 'futures-bookTicker']).default('spot-depth'),
  /** Must be set when QUOTE_SOURCE is binance. */
  BINANCE_SYMBOLS: z
    .string()
    .regex(
      /^[A-Z0-9][A-Z0-9_]*(,[A-Z0-9][A-Z0-9_]*)*$/,
      'must be symbols with commas between them, e.g. BTCUSDT,ETHUSDT',
    )
    .transform((text) => [...new Set(text.split(','))])
    .pipe(z.array(z.string().max(32)).max(200, 'must be at most 200 symbols'))
    .optional(),
  /** The venue's own when it is not set. */
  BINANCE_WS_URL: z
    .string()
    .regex(/^wss?:\/\/[^\s?#]*[^\s?#/]$/, 'must start with wss:// and end without a slash')
    .optional(),
  /** The venue's own when it is not set. */
  BINANCE_REST_URL: z
    .string()
    .regex(/^https?:\/\/[^\s?#]*[^\s?#/]$/, 'must start with https:// and end without a slash')
    .optional(),

  VENUE_GROUP_ID: z.string().min(1).default('simulated-venue'),
  VENUE_SOURCE: z.string().min(1).default('SIM'),
  VENUE_CONTROL_HOST: z.string().default('127.0.0.1'),
  VENUE_CONTROL_PORT: port.default(8070),
  /** Symbol=price pairs: what the simulated feed quotes, and where its walk starts. */
  SIMULATED_FEED_PRICES: z
    .string()
    .regex(
      /^[A-Z0-9][A-Z0-9._/-]*=\d+(\.\d+)?(,[A-Z0-9][A-Z0-9._/-]*=\d+(\.\d+)?)*$/,
      'must be SYMBOL=price pairs with commas between them',
    )
    .default('EURUSD=1.0845,GBPUSD=1.2710,USDJPY=149.50')
    .transform((text) => new Map(text.split(',').map((pair) => pair.split('=') as [string, string])))
    .transform((pairs): Readonly<Record<string, number>> =>
      Object.fromEntries([...pairs].map(([symbol, price]) => [symbol, Number(price)] as const)),
    ),
  SIMULATED_FEED_TICK_INTERVAL_MS: positiveInt.default(100),
  /** Symbol=file: a recorded day that the feed plays again and again, instead of a walk for this symbol. */
  SIMULATED_FEED_RECORDING: z
    .string()
    .regex(/^[A-Z0-9][A-Z0-9._/-]*=.+$/, 'must be SYMBOL=path of a zip archive')
    .transform((text) => {
      const equals = text.indexOf('=');
      return { symbol: text.slice(0, equals), path: text.slice(equals + 1) };
    })
    .optional(),
  /** 1: as it was; 60: an hour in a minute. */
  SIMULATED_FEED_SPEED: z.coerce.number().positive().default(1),

  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

export type Config = Readonly<z.output<typeof environment>>;

/** Raised at start, with every fault of the environment at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads and checks the environment.
 * @throws {ConfigError} naming each variable that is missing or wrong and what would be right.
 */
export function loadConfig(source: NodeJS.ProcessEnv = process.env): Config {
  const parsed = environment.safeParse(source);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => {
    const variable = issue.path.map(String).join('.');
    const missing = source[issue.path[0] as string] === undefined;
    return `  ${variable}: ${missing ? 'is not set' : issue.message}`;
  });
  throw new ConfigError(`The configuration is not usable:\n${faults.join('\n')}`);
}

/** The names of all variables, for the checks that hold .env.example and docker-compose.yml to this file. */
export const CONFIG_VARIABLES: readonly string[] = Object.keys(environment.shape);
