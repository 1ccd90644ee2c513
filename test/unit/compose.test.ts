import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { CONFIG_VARIABLES, loadConfig, type Config } from '../../src/config';
import { SERVICE_NAMES } from '../../src/dev/running-system';
import { nodeFlagsOf } from '../../src/dev/supervised-service';
import { packageRoot } from '../../src/package-root';

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly restart: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly profiles?: readonly string[];
  readonly configs?: readonly { readonly source: string }[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly configs: Readonly<Record<string, unknown>>;
}

function read(file: string): string {
  return readFileSync(join(packageRoot(), file), 'utf8');
}

const compose = parse(read('docker-compose.yml'), { merge: true }) as ComposeFile;
const services = Object.entries(compose.services);
const ours = services.filter(([, { image }]) => image.startsWith('tekil:'));

function service(name: string): Service {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`there is no service ${name}`);
  return found;
}

function configOf(name: string): Config {
  return loadConfig(service(name).environment);
}

/** The ports of `127.0.0.1:${NAME:-8080}:80`: on this machine by default, and in the container. */
function publishedPorts({ ports = [] }: Service): { readonly host: string; readonly container: string }[] {
  return ports.map((text) => {
    const match = /^127\.0\.0\.1:\$\{TEKIL_[A-Z_]+_PORT:-(\d+)\}:(\d+)$/.exec(text);
    if (match === null) throw new Error(`${text} is not published on 127.0.0.1 under a variable of its own`);
    return { host: match[1]!, container: match[2]! };
  });
}

describe('docker-compose.yml', () => {
  test('runs every process of Tekil, each from the file that starts it', () => {
    const processes = ours.filter(([name]) => name !== 'bootstrap');
    expect(processes.map(([name]) => name).sort()).toEqual([...SERVICE_NAMES].sort());
    for (const [name, { command }] of processes) {
      expect(command).toEqual(['node', ...nodeFlagsOf(name), `dist/src/services/${name}.js`]);
      expect(existsSync(join(packageRoot(), 'src', 'services', `${name}.ts`))).toBe(true);
    }
    expect(service('bootstrap').command).toEqual(['node', 'dist/src/cli/main.js', 'bootstrap']);
  });

  test.each(ours.map(([name]) => name))('gives %s only variables that the configuration knows', (name) => {
    const names = Object.keys(service(name).environment);
    expect(names.filter((variable) => !CONFIG_VARIABLES.includes(variable))).toEqual([]);
    expect(() => configOf(name)).not.toThrow();
  });

  test('pins every image to a version', () => {
    for (const [, { image }] of services) expect(image).toMatch(/^[a-z/-]+:v?\d+\.\d+(\.\d+)?$/);
    const { version } = JSON.parse(read('package.json')) as { version: string };
    for (const [, { image }] of ours) expect(image).toBe(`tekil:${version}`);
  });

  test('checks the health of every service that keeps running', () => {
    for (const [name, { restart, healthcheck }] of services) {
      const isOneShot = restart.startsWith('on-failure:');
      if (!isOneShot) expect([name, restart]).toEqual([name, 'unless-stopped']);
      expect([name, healthcheck?.test !== undefined && healthcheck.disable !== true]).toEqual([
        name,
        !isOneShot,
      ]);
    }
  });

  test('asks the health of a process where it answers', () => {
    for (const name of SERVICE_NAMES) {
      const { ADMIN_HOST, ADMIN_PORT } = configOf(name);
      expect(service(name).healthcheck?.test?.join(' ')).toContain(`http://127.0.0.1:${ADMIN_PORT}/readyz`);
      expect(ADMIN_HOST).toBe('0.0.0.0');
    }
  });

  test('has only words in its commands, as YAML reads them', () => {
    for (const [name, { command = [], healthcheck }] of services) {
      const words: readonly unknown[] = [...command, ...(healthcheck?.test ?? [])];
      expect([name, words.filter((word) => typeof word !== 'string')]).toEqual([name, []]);
    }
  });

  test('waits only for what exists and can come true', () => {
    for (const [name, { depends_on: dependencies = {} }] of services) {
      for (const [other, { condition }] of Object.entries(dependencies)) {
        const isOneShot = service(other).restart.startsWith('on-failure:');
        const possible = isOneShot ? 'service_completed_successfully' : 'service_healthy';
        expect([name, other, condition]).toEqual([name, other, possible]);
      }
    }
  });

  test('publishes on this machine only, and no port twice', () => {
    const hostPorts = services.flatMap(([, each]) => publishedPorts(each).map(({ host }) => host));
    expect(new Set(hostPorts).size).toBe(hostPorts.length);
    expect(publishedPorts(service('order-api')).map(({ container }) => container)).toEqual([
      String(configOf('order-api').API_PORT),
    ]);
    expect(configOf('order-api').API_HOST).toBe('0.0.0.0');
  });

  test('declares the volumes and configurations that it uses', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) => volumes.map((text) => text.split(':')[0]!));
    const used = mounted.filter((source) => !source.startsWith('./'));
    expect(used.sort()).toEqual(Object.keys(compose.volumes).sort());
    const sources = services.flatMap(([, { configs = [] }]) => configs.map(({ source }) => source));
    expect(sources).toEqual(Object.keys(compose.configs));
  });
});

describe('the profile monitoring in docker-compose.yml', () => {
  test('is what a start without it leaves out: nothing else has a profile, and nothing else waits for it', () => {
    const monitoring = services.filter(([, { profiles }]) => profiles !== undefined);
    expect(monitoring.map(([name, { profiles }]) => [name, profiles])).toEqual([
      ['prometheus', ['monitoring']],
      ['grafana', ['monitoring']],
    ]);
    const waitedFor = services
      .filter(([, { profiles }]) => profiles === undefined)
      .flatMap(([, { depends_on: dependencies = {} }]) => Object.keys(dependencies));
    expect(waitedFor.filter((name) => ['prometheus', 'grafana'].includes(name))).toEqual([]);
  });

  test('mounts files that exist, for reading only', () => {
    const mounts = ['prometheus', 'grafana'].flatMap((name) => service(name).volumes ?? []);
    const ours = mounts.filter((text) => text.startsWith('./')).map((text) => text.split(':'));
    expect(ours.map(([, , mode]) => mode)).toEqual(['ro', 'ro', 'ro']);
    for (const [source] of ours) expect(existsSync(join(packageRoot(), source!))).toBe(true);
  });

  test('puts the configuration where each looks for it, and its board where the provider reads', () => {
    const target = (name: string, source: string): string | undefined =>
      service(name)
        .volumes?.find((text) => text.startsWith(`${source}:`))
        ?.split(':')[1];
    expect(target('prometheus', './deploy/prometheus')).toBe('/etc/prometheus');
    expect(target('grafana', './deploy/grafana/provisioning')).toBe('/etc/grafana/provisioning');
    const { providers } = parse(read('deploy/grafana/provisioning/dashboards/tekil.yml')) as {
      providers: readonly { options: { path: string } }[];
    };
    const board = target('grafana', './deploy/grafana/tekil.json');
    expect(board).toBe(`${providers[0]!.options.path}/tekil.json`);
    expect(service('grafana').environment['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH']).toBe(board);
  });

  test('lets Grafana find Prometheus', () => {
    const { datasources } = parse(read('deploy/grafana/provisioning/datasources/prometheus.yml')) as {
      datasources: readonly { url: string }[];
    };
    const port = publishedPorts(service('prometheus'))[0]!.container;
    expect(datasources.map(({ url }) => url)).toEqual([`http://prometheus:${port}`]);
  });
});

describe('the addresses in docker-compose.yml', () => {
  test.each(ours.map(([name]) => name))('%s finds the three servers', (name) => {
    const config = configOf(name);
    const database = new URL(config.DATABASE_URL);
    const postgres = service('postgres');
    expect(database.hostname).toBe('postgres');
    expect(database.port).toBe(publishedPorts(postgres)[0]!.container);
    expect([database.username, database.password, database.pathname.slice(1)]).toEqual([
      postgres.environment['POSTGRES_USER'],
      postgres.environment['POSTGRES_PASSWORD'],
      postgres.environment['POSTGRES_DB'],
    ]);
    expect(config.TEMPORAL_ADDRESS).toBe(`temporal:${publishedPorts(service('temporal'))[0]!.container}`);
    const listeners = service('kafka').environment['KAFKA_ADVERTISED_LISTENERS']!.split(',');
    expect(config.KAFKA_BROKERS.map((broker) => `INTERNAL://${broker}`)).toEqual([listeners[0]]);
  });

  test("Temporal's parts use the same database server and the same frontend", () => {
    const { POSTGRES_USER: user, POSTGRES_PASSWORD: password } = service('postgres').environment;
    expect(service('temporal').environment).toMatchObject({
      POSTGRES_SEEDS: 'postgres',
      POSTGRES_USER: user,
      POSTGRES_PWD: password,
    });
    expect(service('temporal-schema').environment).toMatchObject({
      SQL_HOST: 'postgres',
      SQL_USER: user,
      SQL_PASSWORD: password,
    });
    const address = configOf('order-api').TEMPORAL_ADDRESS;
    for (const name of ['temporal-ui', 'temporal-namespace']) {
      expect(service(name).environment['TEMPORAL_ADDRESS']).toBe(address);
    }
  });

  test('the quotes reach the gate, and the gate is where the workers ask', () => {
    const health = configOf('quote-health');
    const venue = configOf('simulated-venue');
    expect(venue.QUOTE_FEED_HOST).toBe('quote-health');
    expect(venue.QUOTE_FEED_PORT).toBe(health.QUOTE_FEED_PORT);
    expect([health.QUOTE_FEED_HOST, health.GATE_HOST]).toEqual(['0.0.0.0', '0.0.0.0']);
    for (const name of ['order-api', 'order-worker']) {
      expect(configOf(name).QUOTE_GATE_URL).toBe(`http://quote-health:${health.GATE_PORT}`);
    }
  });
});

describe('the Dockerfile', () => {
  const lines = read('Dockerfile').split('\n');

  test('does not run as root, and pins a Node that the package allows', () => {
    expect(lines.filter((line) => line.startsWith('USER '))).toEqual(['USER node']);
    const version = /^ARG NODE_IMAGE=node:(\d+)\.(\d+)\.\d+-/m.exec(read('Dockerfile'));
    expect([Number(version?.[1]), Number(version?.[2]) >= 19]).toEqual([20, true]);
  });

  test('copies only files that exist and that .dockerignore lets through', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const sources = lines
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(' ').slice(1, -1));
    expect(new Set(sources)).toEqual(new Set(allowed));
    for (const source of sources) expect(existsSync(join(packageRoot(), source))).toBe(true);
  });
});
