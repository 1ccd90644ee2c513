import { stablePorts } from './ports';
import { SERVICE_NAMES, type ServiceName } from './running-system';
import type { ServerAddresses } from './servers';

const SERVER_PORTS = { postgres: 'tcp', temporal: 'tcp', temporalUi: 'tcp', kafka: 'tcp' } as const;
const SERVICE_PORTS = { api: 'tcp', gate: 'tcp', feed: 'udp', venueControl: 'tcp' } as const;
const ADMIN_PORTS = Object.fromEntries(SERVICE_NAMES.map((name) => [name, 'tcp'] as const)) as Record<
  ServiceName,
  'tcp'
>;

export type StartPorts = Readonly<
  Record<keyof typeof SERVER_PORTS | keyof typeof SERVICE_PORTS | ServiceName, number>
>;

/** Every port of `npm start`: the same at each start, as long as nobody else took one meanwhile. */
export function portsOf(file: string): Promise<StartPorts> {
  return stablePorts(file, { ...SERVER_PORTS, ...SERVICE_PORTS, ...ADMIN_PORTS });
}

/**
 * The environment that all services share. What the user set wins over the ports found here; the addresses of the
 * servers are those that `npm start` really uses.
 */
export function sharedEnvironment(
  environment: NodeJS.ProcessEnv,
  addresses: ServerAddresses,
  ports: StartPorts,
): NodeJS.ProcessEnv {
  return {
    API_PORT: String(ports.api),
    GATE_PORT: String(ports.gate),
    QUOTE_GATE_URL: `http://127.0.0.1:${ports.gate}`,
    QUOTE_FEED_PORT: String(ports.feed),
    VENUE_CONTROL_PORT: String(ports.venueControl),
    // A terminal that was told to stop waits ten seconds at most.
    WORKER_SHUTDOWN_GRACE_MS: '1000',
    WORKER_SHUTDOWN_FORCE_MS: '2000',
    ...environment,
    ...addresses,
  };
}
