import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createKafka } from '../kafka/client';
import { silentLogger } from '../observability/logger';
import { startByCompose } from './compose-server';
import { ManagedProcess } from './managed-process';
import { freePort } from './ports';
import { provisionOf, type KafkaJars } from './provision';
import { serverFilesOf, type RunningServer, type ProgramFiles } from './server-files';

export interface KafkaOptions {
  /** Holds the topics between starts. */
  readonly dataDir: string;
  readonly port?: number | undefined;
}

export interface KafkaServer extends RunningServer {
  /** `host:port`, as KAFKA_BROKERS takes it. */
  readonly brokers: string;
  readonly port: number;
}

const FORMAT_TIMEOUT_MS = 60_000;
const READY_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 2_000;
const STOP_TIMEOUT_MS = 4_000;
/** The first compiler tier and the serial collector: what a broker of one machine needs is to be there soon. */
const JVM_FLAGS = ['-Xms128m', '-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
const LOG_FLAGS = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'];

/** Starts one Kafka broker, its own controller, on 127.0.0.1. @throws {StartError} with the end of its log. */
export async function startKafka(options: KafkaOptions): Promise<KafkaServer> {
  const provision = provisionOf('kafka');
  const port = options.port ?? (await freePort());
  const brokers = `127.0.0.1:${port}`;
  const probe = (): Promise<void> => answers(brokers);
  if (provision.kind === 'compose') {
    const ports = { TEKIL_KAFKA_PORT: port };
    const { dataDir } = options;
    return { brokers, port, ...(await startByCompose({ dataDir, services: ['kafka'], ports, probe })) };
  }
  const files = serverFilesOf(options.dataDir, 'kafka');
  const properties = join(files.folder, 'server.properties');
  writeFileSync(properties, propertiesOf(join(files.folder, 'log'), port, await freePort()));
  await formatStorage(provision, files, properties);
  const server = await ManagedProcess.start({
    name: 'Kafka',
    command: provision.java,
    args: [...JVM_FLAGS, ...LOG_FLAGS, '-cp', join(provision.folder, '*'), 'kafka.Kafka', properties],
    env: { PATH: '/usr/bin:/bin' },
    logFile: files.log,
    log: 'new',
    pidFile: files.pid,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  await server.waitUntilReady(probe, READY_TIMEOUT_MS);
  return { brokers, port, stop: () => server.stop(), kill: () => server.kill() };
}

/** Gives the broker's log directory its identity, once. */
async function formatStorage(provision: KafkaJars, files: ProgramFiles, properties: string): Promise<void> {
  const log = join(files.folder, 'log');
  if (existsSync(join(log, 'meta.properties'))) return;
  // What an interrupted start left there has no identity, so it cannot hold anybody's messages.
  rmSync(log, { recursive: true, force: true });
  const clusterId = randomBytes(16).toString('base64url');
  const classpath = join(provision.folder, '*');
  // With "=": an id may begin with a hyphen, which the tool would take for an option.
  const format = ['format', `--cluster-id=${clusterId}`, `--config=${properties}`];
  const tool = ['-cp', classpath, 'kafka.tools.StorageTool', ...format];
  await promisify(execFile)(provision.java, [...JVM_FLAGS, ...LOG_FLAGS, ...tool], {
    timeout: FORMAT_TIMEOUT_MS,
  });
}

function propertiesOf(logDirectory: string, port: number, controllerPort: number): string {
  const single = ['offsets.topic', 'transaction.state.log', 'share.coordinator.state.topic'].flatMap(
    (topic) => [`${topic}.replication.factor=1`, `${topic}.min.isr=1`, `${topic}.num.partitions=1`],
  );
  return [
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@127.0.0.1:${controllerPort}`,
    `listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    `advertised.listeners=PLAINTEXT://127.0.0.1:${port}`,
    'controller.listener.names=CONTROLLER',
    'listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    `log.dirs=${logDirectory}`,
    ...single,
    'auto.create.topics.enable=false',
    'group.initial.rebalance.delay.ms=0',
    'num.network.threads=2',
    'num.io.threads=2',
    'log.cleaner.dedupe.buffer.size=4194304',
    '',
  ].join('\n');
}

async function answers(brokers: string): Promise<void> {
  const options = { brokers: [brokers], clientId: 'tekil-start', requestTimeoutMs: REQUEST_TIMEOUT_MS };
  const admin = createKafka(options, silentLogger()).admin({ retry: { retries: 0 } });
  try {
    await admin.connect();
    const cluster = await admin.describeCluster();
    if (cluster.brokers.length === 0) throw new Error('the broker is not registered yet');
  } finally {
    await admin.disconnect();
  }
}
