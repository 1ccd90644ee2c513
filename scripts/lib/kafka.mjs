import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './checkout.mjs';
import { fetchOnce } from './fetched.mjs';
import { run } from './run.mjs';
import { which } from './which.mjs';

/** As in kafka-pom.xml. */
const VERSION = '4.3.1';
const OLDEST_JAVA = 17;
const JAVA_TIMEOUT_MS = 20_000;
const FETCH_TIMEOUT_MS = 300_000;

export const kafka = {
  name: 'Kafka',
  variable: 'KAFKA_BROKERS',
  installHint: `install Java ${OLDEST_JAVA} or later with Maven (apt: default-jre-headless maven), or set KAFKA_HOME to an installed Kafka, or install Docker`,
  ways: [fromMachine, fromMaven],
};

async function fromMachine() {
  const home = process.env['KAFKA_HOME'];
  if (home === undefined || home === '') return undefined;
  const folder = join(home, 'libs');
  if (!existsSync(folder) || !readdirSync(folder).some((file) => file.startsWith('kafka_'))) {
    throw new Error(`KAFKA_HOME is ${home}, but there is no Kafka in ${folder}`);
  }
  return { kind: 'jars', java: await findJava(), folder };
}

async function fromMaven(say) {
  const java = await findJava();
  const folder = await fetchOnce(`kafka-${VERSION}`, async (target) => {
    say(`fetching Kafka (Maven: org.apache.kafka ${VERSION})`);
    const pom = join(ROOT, 'scripts', 'kafka-pom.xml');
    // A repository of its own: the user's is left as it is, and need not be writable.
    const repository = join(target, 'repository');
    const options = ['-q', '-B', '-f', pom, `-Dmaven.repo.local=${repository}`];
    await run('mvn', [...options, 'dependency:copy-dependencies', `-DoutputDirectory=${target}`], {
      timeoutMs: FETCH_TIMEOUT_MS,
    });
    rmSync(repository, { recursive: true });
  });
  return { kind: 'jars', java, folder };
}

async function findJava() {
  const home = process.env['JAVA_HOME'];
  const java = home === undefined || home === '' ? which('java') : join(home, 'bin', 'java');
  if (java === undefined) throw new Error('there is no java on the PATH');
  const text = await run(java, ['--version'], { timeoutMs: JAVA_TIMEOUT_MS });
  const major = Number(/\d+/.exec(text)?.[0] ?? 0);
  if (major < OLDEST_JAVA)
    throw new Error(`${java} is version ${major}, Kafka needs ${OLDEST_JAVA} or later`);
  return java;
}
