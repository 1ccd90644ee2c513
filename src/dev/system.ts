import { join } from 'node:path';
import { bootstrap } from '../cli/bootstrap';
import { loadConfig, type Config } from '../config';
import { createPool } from '../db/pool';
import { Lifecycle } from '../lifecycle';
import { silentLogger } from '../observability/logger';
import { claimDataDirectory } from './data-directory';
import { DEMO_ACCOUNT, ensureDemoKey } from './demo-key';
import {
  removeRunningSystem,
  SERVICE_NAMES,
  writeRunningSystem,
  type RunningSystem,
  type ServiceName,
} from './running-system';
import { startServers, type Servers } from './servers';
import { portsOf, sharedEnvironment, type StartPorts } from './service-environment';
import { SupervisedService } from './supervised-service';

export interface SystemOptions {
  readonly dataDir: string;
  /** The user's own variables: servers and ports that are set here are used as they are. */
  readonly environment: NodeJS.ProcessEnv;
  /** One line of progress, or a report of trouble. */
  readonly say: (text: string) => void;
  /** Called when a service ended too often to be started again. */
  readonly onGivenUp: () => void;
}

export interface StartedSystem {
  readonly system: RunningSystem;
  readonly apiKey: string;
}

/** One part may take this long to stop; each child process has a shorter bound of its own. */
const STOP_TIMEOUT_MS = 6_000;

/** Servers, their preparation and the five processes, as one thing that starts and stops. */
export class TekilSystem {
  readonly #options: SystemOptions;
  readonly #lifecycle = new Lifecycle(silentLogger(), STOP_TIMEOUT_MS);
  #stopping = false;

  constructor(options: SystemOptions) {
    this.#options = options;
  }

  /** @throws {Error} naming what could not be started; call {@link stop} all the same. */
  async start(): Promise<StartedSystem> {
    const { dataDir, environment, say } = this.#options;
    const release = await claimDataDirectory(dataDir);
    this.#lifecycle.started('data directory', () => {
      removeRunningSystem(dataDir);
      release();
      return Promise.resolve();
    });
    const ports = await portsOf(join(dataDir, 'ports.json'));

    say('starting PostgreSQL, Temporal and Kafka');
    const servers = await this.#startServers(ports);
    const env = sharedEnvironment(environment, servers.addresses, ports);
    const config = loadConfig(env);

    say('preparing the schema, the search attributes and the topics');
    await bootstrap(config, silentLogger());
    const apiKeyFile = join(dataDir, 'demo-api-key');
    const apiKey = await withPool(config, (pool) => ensureDemoKey(pool, apiKeyFile));

    // Asked to stop meanwhile: what is started from here on, nobody would stop.
    if (this.#stopping) throw new Error('it was stopped before it had started');
    say(`starting ${SERVICE_NAMES.join(', ')}`);
    const services = await this.#startServices(env, ports, () => {
      writeRunningSystem(dataDir, describe());
    });
    const describe = (): RunningSystem => ({
      pid: process.pid,
      apiUrl: `http://127.0.0.1:${config.API_PORT}`,
      gateUrl: config.QUOTE_GATE_URL,
      venueControlUrl: `http://127.0.0.1:${config.VENUE_CONTROL_PORT}`,
      temporalUiUrl: servers.temporalUiUrl,
      databaseUrl: config.DATABASE_URL,
      temporalAddress: config.TEMPORAL_ADDRESS,
      kafkaBrokers: config.KAFKA_BROKERS.join(','),
      accountId: DEMO_ACCOUNT,
      apiKeyFile,
      services: mapServices((name) => ({ pid: services[name].pid ?? 0, adminUrl: adminUrlOf(ports, name) })),
    });
    const system = describe();
    writeRunningSystem(dataDir, system);
    return { system, apiKey };
  }

  /** The API first, so that nothing new comes in; then the other processes; then the servers. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#lifecycle.stop();
  }

  async #startServers(ports: StartPorts): Promise<Servers> {
    const { dataDir, environment } = this.#options;
    const starting = startServers({
      dataDir,
      durable: true,
      ui: true,
      external: externalOf(environment),
      ports,
    });
    // Known before they are up: Ctrl-C during the start stops what is starting.
    this.#lifecycle.started('servers', async () => {
      await (await starting.catch(() => undefined))?.stop();
    });
    return starting;
  }

  async #startServices(
    env: NodeJS.ProcessEnv,
    ports: StartPorts,
    onRestarted: () => void,
  ): Promise<Readonly<Record<ServiceName, SupervisedService>>> {
    const { dataDir, say, onGivenUp } = this.#options;
    // One port, and two processes that could serve the SDK's metrics on it: the one that does nothing else has it.
    const { TEMPORAL_METRICS_PORT: _, ...withoutSdkMetrics } = env;
    const services = mapServices((name) => {
      const adminUrl = adminUrlOf(ports, name);
      const shared = name === 'order-worker' ? env : withoutSdkMetrics;
      const own = { ...shared, ADMIN_HOST: '127.0.0.1', ADMIN_PORT: String(ports[name]) };
      return new SupervisedService({ name, dataDir, env: own, adminUrl, say, onRestarted, onGivenUp });
    });
    const { 'order-api': api, ...others } = services;
    this.#lifecycle.started('services behind the API', async () => {
      await Promise.all(Object.values(others).map((service) => service.stop()));
    });
    this.#lifecycle.started('order-api', () => api.stop());
    await Promise.all(Object.values(services).map((service) => service.start()));
    return services;
  }
}

function adminUrlOf(ports: StartPorts, name: ServiceName): string {
  return `http://127.0.0.1:${ports[name]}`;
}

function mapServices<T>(make: (name: ServiceName) => T): Record<ServiceName, T> {
  return Object.fromEntries(SERVICE_NAMES.map((name) => [name, make(name)] as const)) as Record<
    ServiceName,
    T
  >;
}

function externalOf(environment: NodeJS.ProcessEnv): Parameters<typeof startServers>[0]['external'] {
  const { DATABASE_URL, TEMPORAL_ADDRESS, KAFKA_BROKERS } = environment;
  return {
    ...(DATABASE_URL ? { DATABASE_URL } : {}),
    ...(TEMPORAL_ADDRESS ? { TEMPORAL_ADDRESS } : {}),
    ...(KAFKA_BROKERS ? { KAFKA_BROKERS } : {}),
  };
}

async function withPool<T>(
  config: Config,
  work: (pool: ReturnType<typeof createPool>) => Promise<T>,
): Promise<T> {
  const pool = createPool(
    {
      connectionString: config.DATABASE_URL,
      size: 1,
      statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
      connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
      applicationName: 'tekil start',
    },
    silentLogger(),
  );
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
