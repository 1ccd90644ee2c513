import { startKafka } from './kafka';
import { startPostgres } from './postgres';
import type { RunningServer } from './server-files';
import { startTemporal } from './temporal';

/** The addresses of the three servers, under the names by which every process and test reads them. */
export interface ServerAddresses {
  readonly DATABASE_URL: string;
  readonly TEMPORAL_ADDRESS: string;
  readonly KAFKA_BROKERS: string;
}

export interface ServersOptions {
  readonly dataDir: string;
  /** Does the data have to survive a crash of the machine? */
  readonly durable: boolean;
  readonly ui: boolean;
  /** Servers that run already: nothing is started in their place. */
  readonly external: Partial<ServerAddresses>;
  /** Free ones are found for those that are left out. */
  readonly ports?: Partial<Record<'postgres' | 'temporal' | 'temporalUi' | 'kafka', number>>;
}

export interface Servers {
  readonly addresses: ServerAddresses;
  /** Undefined when Temporal is external. */
  readonly temporalUiUrl: string | undefined;
  readonly stop: () => Promise<void>;
}

/** Starts the three servers side by side; when one fails, those that started are stopped. */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const starts = [startDatabase(options), startEngine(options), startBroker(options)] as const;
  const stop = async (): Promise<void> => {
    await Promise.all(starts.map(async (start) => (await start.catch(() => undefined))?.stop()));
  };
  try {
    const [postgres, temporal, kafka] = await Promise.all(starts);
    return {
      addresses: {
        DATABASE_URL: postgres.url,
        TEMPORAL_ADDRESS: temporal.address,
        KAFKA_BROKERS: kafka.brokers,
      },
      temporalUiUrl: temporal.uiUrl,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Stoppable<Facts> = Facts & Pick<RunningServer, 'stop'>;

function notOurs<Facts>(facts: Facts): Promise<Stoppable<Facts>> {
  return Promise.resolve({ ...facts, stop: () => Promise.resolve() });
}

function startDatabase(options: ServersOptions): Promise<Stoppable<{ readonly url: string }>> {
  const url = options.external.DATABASE_URL;
  if (url !== undefined) return notOurs({ url });
  return startPostgres({ dataDir: options.dataDir, durable: options.durable, port: options.ports?.postgres });
}

function startEngine(
  options: ServersOptions,
): Promise<Stoppable<{ readonly address: string; readonly uiUrl?: string | undefined }>> {
  const address = options.external.TEMPORAL_ADDRESS;
  if (address !== undefined) return notOurs({ address });
  return startTemporal({
    dataDir: options.dataDir,
    ui: options.ui,
    port: options.ports?.temporal,
    uiPort: options.ports?.temporalUi,
  });
}

function startBroker(options: ServersOptions): Promise<Stoppable<{ readonly brokers: string }>> {
  const brokers = options.external.KAFKA_BROKERS;
  if (brokers !== undefined) return notOurs({ brokers });
  return startKafka({ dataDir: options.dataDir, port: options.ports?.kafka });
}
