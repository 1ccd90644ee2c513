import { randomUUID } from 'node:crypto';
import { createAcknowledgedProducer, type AcknowledgedProducer } from '../../src/kafka/acknowledged-producer';
import {
  createVenueCommandProducer,
  type VenueCommandProducer,
} from '../../src/kafka/venue-command-producer';
import { silentLogger } from '../../src/observability/logger';
import { createMetrics } from '../../src/observability/metrics';
import { createCommandConsumer } from '../../src/venue/command-consumer';
import { startControlApi, type FeedControls } from '../../src/venue/control-api';
import { createExecutionPublisher } from '../../src/venue/execution-publisher';
import { SimulatedVenue } from '../../src/venue/simulated-venue';
import { createTestTopics, type TestTopics } from '../support/kafka-topics';
import { aCommand } from '../support/venue-commands';
import { waitFor } from '../support/wait-for';

let topics: TestTopics;
let commands: VenueCommandProducer;
let executions: AcknowledgedProducer;
let feedCalls: unknown[][];
let url: string;
let stops: (() => Promise<void>)[];

beforeEach(async () => {
  const logger = silentLogger();
  topics = await createTestTopics();
  const options = { topic: topics.names.venueCommands, timeoutMs: 5_000 };
  commands = createVenueCommandProducer(topics.kafka, options, createMetrics());
  executions = createAcknowledgedProducer(topics.kafka, 5_000);
  const publisher = createExecutionPublisher(executions, topics.names.executions, logger);
  const { publish } = publisher;
  const venue = new SimulatedVenue({ source: 'SIM', publish, lastPrice: () => '1.1', logger });
  const consumer = createCommandConsumer(
    topics.kafka,
    venue,
    { topic: topics.names.venueCommands, groupId: `test-${randomUUID()}`, onFatal: fail },
    logger,
  );
  await consumer.start();
  feedCalls = [];
  const control = await startControlApi(
    { host: '127.0.0.1', port: 0 },
    { venue, publisher, feed: recordingFeed(), logger },
  );
  url = `http://127.0.0.1:${control.port}/v1`;
  stops = [
    control.close,
    consumer.stop,
    () => venue.stop(),
    () => executions.close(),
    () => commands.close(),
  ];
});

afterEach(async () => {
  for (const stop of stops) await stop();
  await topics.drop();
});

function fail(error: unknown): void {
  throw new Error('the command consumer gave up', { cause: error });
}

function recordingFeed(): FeedControls {
  const record =
    (name: string) =>
    (...args: unknown[]): void => {
      feedCalls.push([name, ...args]);
    };
  return {
    setMode: record('setMode'),
    skip: record('skip'),
    repeat: record('repeat'),
    newSession: record('newSession'),
    delaySource: record('delaySource'),
  };
}

async function call(method: string, path: string, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const readExecutions = async (count: number) =>
  (await topics.read(topics.names.executions, count)).map(({ key, value }) => ({
    key: String(key),
    event: JSON.parse(String(value)) as { type: string; executionId: string },
  }));

describe('the simulated venue over Kafka', () => {
  test('answers a command that was published twice with one acknowledgement and its fills', async () => {
    await call('PUT', '/behaviour', { default: { pieces: 2, acknowledgeAfterMs: 1, fillAfterMs: 1 } });
    await commands.publish(aCommand());
    await commands.publish(aCommand());
    await waitFor('both commands', async () => (await call('GET', '/commands')).body['received'] === 2);
    const published = await readExecutions(3);
    expect(published.map(({ event }) => event.type)).toEqual(['NEW', 'FILL', 'FILL']);
    expect(new Set(published.map(({ key }) => key))).toEqual(new Set(['order:acme:order-1']));
    expect((await call('GET', '/commands?accountId=acme&clientOrderId=order-1')).body).toMatchObject({
      received: 2,
      duplicates: 1,
      commands: [{ duplicate: false }, { duplicate: true }],
    });
    expect((await call('GET', '/commands?accountId=nobody')).body['commands']).toEqual([]);
  });

  test('passes over what is no command and goes on', async () => {
    await executions.send(topics.names.venueCommands, [
      { key: 'x', value: 'no JSON' },
      { key: 'x', value: null },
      { key: 'x', value: JSON.stringify({ ...aCommand(), quantity: 1 }) },
    ]);
    await commands.publish(aCommand());
    expect((await readExecutions(2)).map(({ event }) => event.type)).toEqual(['NEW', 'FILL']);
  });
});

describe('the control API', () => {
  test('gives the behaviour that it was given, with defaults filled in', async () => {
    const put = await call('PUT', '/behaviour', { symbols: { EURUSD: { order: 'rest' } } });
    expect(put.status).toBe(200);
    expect(put.body).toMatchObject({
      default: { order: 'fill', copies: 1 },
      symbols: { EURUSD: { order: 'rest', acknowledge: true } },
    });
    expect((await call('GET', '/behaviour')).body).toEqual(put.body);
  });

  test('refuses a behaviour that it does not know, and names the field', async () => {
    expect(await call('PUT', '/behaviour', { default: { copies: 0, mood: 'bad' } })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'default.copies' }, { field: 'default' }] },
    });
  });

  test('emits any execution as often as asked, right or wrong', async () => {
    const { accountId, clientOrderId } = aCommand();
    const execution = { accountId, clientOrderId, quantity: 1 };
    expect(await call('POST', '/executions', { execution, times: 3 })).toEqual({
      status: 202,
      body: { published: 3 },
    });
    await call('POST', '/executions', { value: 'no JSON', key: 'anything' });
    const messages = await topics.read(topics.names.executions, 4);
    const texts = messages.map(({ key, value }) => `${String(key)} ${String(value)}`);
    expect(texts.toSorted()).toEqual([
      'anything no JSON',
      ...Array.from({ length: 3 }, () => `order:acme:order-1 ${JSON.stringify(execution)}`),
    ]);
  });

  test('passes feed controls on', async () => {
    for (const name of ['silence', 'heartbeats', 'resume', 'repeat', 'new-session']) {
      expect((await call('POST', `/feed/${name}`)).status).toBe(200);
    }
    await call('POST', '/feed/skip', { count: 7 });
    await call('POST', '/feed/skip');
    await call('POST', '/feed/delay', { delayMs: 3_000 });
    expect(feedCalls).toEqual([
      ['setMode', 'silent'],
      ['setMode', 'heartbeats'],
      ['setMode', 'ticks'],
      ['repeat'],
      ['newSession'],
      ['skip', 7],
      ['skip', 1],
      ['delaySource', 3_000],
    ]);
  });

  test('answers broken bodies and unknown paths as faults of the caller', async () => {
    const broken = await fetch(`${url}/behaviour`, {
      method: 'PUT',
      body: '{',
      headers: { 'content-type': 'application/json' },
    });
    expect(broken.status).toBe(400);
    expect((await call('PUT', '/behaviour')).status).toBe(400);
    expect((await call('POST', '/feed/dance')).status).toBe(404);
  });
});
