import { join } from 'node:path';
import { decimal, decimalText } from '../domain/decimal';
import { packageRoot } from '../package-root';
import { DemoClient, eventually, type DemoAnswer } from './demo-client';
import { readRunningSystem } from './running-system';

/** The behaviour of the simulated venue that each step leaves behind. */
const USUAL = { default: {}, symbols: {} };
const SYMBOL = 'EURUSD';

/** Says what a step claims, and stops the story when it is not so. Every fact was read from the running system. */
function prove(claim: string, holds: boolean, seen: unknown): void {
  if (!holds) throw new Error(`not so: ${claim}; seen: ${JSON.stringify(seen)}`);
  console.log(`   ✓ ${claim}`);
}

function tell(step: number, text: string): void {
  console.log(`\n${step}. ${text}`);
}

function anOrder(run: string, name: string, change: Record<string, unknown> = {}) {
  return {
    clientOrderId: `demo-${run}-${name}`,
    symbol: SYMBOL,
    side: 'buy',
    quantity: '1',
    type: 'market',
    timeInForce: 'gtc',
    ...change,
  };
}

async function sendFiveTimes(client: DemoClient, run: string): Promise<DemoAnswer> {
  tell(1, 'An order is sent five times at once.');
  const order = anOrder(run, 'five-times');
  const answers = await Promise.all(Array.from({ length: 5 }, () => client.api('POST', '/v1/orders', order)));
  const statuses = answers.map(({ status }) => status);
  prove(
    'five answers, all 201',
    statuses.every((status) => status === 201),
    statuses,
  );
  prove('byte for byte the same', new Set(answers.map(({ body }) => body)).size === 1, answers);
  const replayed = answers.filter((answer) => answer.replayed).length;
  prove('one is fresh, four are marked as replayed', replayed === 4, replayed);
  const rows = await client.rows('orders', order.clientOrderId);
  prove('PostgreSQL holds one order', rows === 1, rows);
  await eventually(
    'the command',
    async () => (await client.messages('venueCommands', order.clientOrderId)) > 0,
  );
  const commands = await client.messages('venueCommands', order.clientOrderId);
  prove('Kafka holds one command to the venue', commands === 1, commands);

  tell(2, 'The same key is sent with quantity 10 instead of 1.');
  const other = await client.api('POST', '/v1/orders', { ...order, quantity: '10' });
  prove('422, and the answer names the field: quantity', other.status === 422, other.json);
  prove('the detail says so', JSON.stringify(other.json['fields']) === '["quantity"]', other.json);
  const after = await client.api('GET', `/v1/orders/${order.clientOrderId}`);
  prove('the order still asks for 1', after.json['quantity'] === '1', after.json);
  return other;
}

async function deliverThreeTimes(client: DemoClient, run: string): Promise<void> {
  tell(3, 'A fill is delivered three times.');
  await client.venue('PUT', '/v1/behaviour', { ...USUAL, default: { order: 'rest' } });
  const order = anOrder(run, 'three-fills', { quantity: '10' });
  await client.api('POST', '/v1/orders', order);
  const before = await position(client);
  const counted = await duplicates(client);
  const execution = {
    source: 'DEMO',
    type: 'FILL',
    executionId: `${order.clientOrderId}-fill`,
    accountId: client.system.accountId,
    clientOrderId: order.clientOrderId,
    symbol: SYMBOL,
    side: 'buy',
    quantity: '4',
    price: '1.0845',
    executedAt: new Date().toISOString(),
  };
  await client.venue('POST', '/v1/executions', { execution, times: 3 });
  await eventually('the repeats to be counted', async () => (await duplicates(client)) - counted >= 2);
  const messages = await client.messages('executions', order.clientOrderId);
  prove('Kafka holds the fill three times (and one acknowledgement)', messages === 4, messages);
  const fills = await client.rows('fills', order.clientOrderId);
  prove('PostgreSQL holds one fill', fills === 1, fills);
  const moved = decimalText(decimal(await position(client)).minus(before));
  prove('the position moved by 4, once', moved === '4', moved);
  prove('the duplicate counter rose by 2', (await duplicates(client)) - counted === 2, counted);
  await client.venue('PUT', '/v1/behaviour', USUAL);
}

async function goSilent(client: DemoClient, run: string): Promise<void> {
  tell(4, 'The quote feed goes silent, and an order is sent.');
  await client.venue('POST', '/v1/feed/silence', {});
  await eventually('the gate to close', async () => {
    const response = await fetch(`${client.system.gateUrl}/v1/gate/${SYMBOL}`);
    return ((await response.json()) as { verdict: string }).verdict === 'closed';
  });
  const order = anOrder(run, 'stale');
  const refused = await client.api('POST', '/v1/orders', order);
  await client.venue('POST', '/v1/feed/resume', {});
  prove(`409, ${String(refused.json['detail'])}`, refused.json['code'] === 'STALE_QUOTE', refused.json);
  const commands = await client.messages('venueCommands', order.clientOrderId);
  prove('nothing was sent to the venue', commands === 0, commands);
  await eventually('the gate to open', async () => {
    const response = await fetch(`${client.system.gateUrl}/v1/gate/${SYMBOL}`);
    return ((await response.json()) as { verdict: string }).verdict === 'open';
  });
  const again = await client.api('POST', '/v1/orders', order);
  prove('the feed is back, and the answer of that key stays what it was', again.body === refused.body, again);
}

async function killWorkers(client: DemoClient, run: string): Promise<void> {
  tell(5, 'Both workers are killed (SIGKILL) while an order is being filled.');
  const pieces = 10;
  await client.venue('PUT', '/v1/behaviour', { ...USUAL, default: { pieces, fillAfterMs: 200 } });
  const order = anOrder(run, 'killed', { quantity: String(pieces) });
  const before = await position(client);
  const first = await client.api('POST', '/v1/orders', order);
  const filled = async (): Promise<Record<string, unknown>> =>
    (await client.api('GET', `/v1/orders/${order.clientOrderId}`)).json;
  await eventually('the first pieces', async () => (await filled())['status'] === 'PARTIALLY_FILLED');
  const services = readRunningSystem(dataDirectory())?.services ?? client.system.services;
  for (const name of ['order-worker', 'order-api'] as const) process.kill(services[name].pid, 'SIGKILL');
  const status = (await filled().catch(() => undefined))?.['status'];
  prove('the API is gone', status === undefined, status);
  await eventually('the order to be filled', async () => (await filled())['status'] === 'FILLED', 60_000);
  const fills = await client.rows('fills', order.clientOrderId);
  prove(`the order was completed: ${fills} fills for ${pieces} pieces`, fills === pieces, fills);
  const moved = decimalText(decimal(await position(client)).minus(before));
  prove(`the position moved by ${pieces}, not by more`, moved === String(pieces), moved);
  const again = await client.api('POST', '/v1/orders', order);
  prove('and the first answer is still the answer', again.replayed && again.body === first.body, again);
  await client.venue('PUT', '/v1/behaviour', USUAL);
}

async function position(client: DemoClient): Promise<string> {
  const { status, json } = await client.api('GET', `/v1/positions/${SYMBOL}`);
  return status === 404 ? '0' : String(json['quantity']);
}

function duplicates(client: DemoClient): Promise<number> {
  return client.metric('fill-bridge', 'tekil_duplicate_executions_total');
}

/** Where `npm start` keeps its data; the first argument, when it is not the usual folder. */
function dataDirectory(): string {
  return process.argv[2] ?? join(packageRoot(), '.tekil-data');
}

async function main(): Promise<void> {
  const system = readRunningSystem(dataDirectory());
  if (system === undefined)
    throw new Error('nothing is running here: start the system with "npm start" first');
  const client = new DemoClient(system);
  const run = Date.now().toString(36);
  try {
    console.log('A repeat is harmless. Everything below is read from the running system.');
    await client.venue('PUT', '/v1/behaviour', USUAL);
    await sendFiveTimes(client, run);
    await deliverThreeTimes(client, run);
    await goSilent(client, run);
    await killWorkers(client, run);
    console.log('\nThat is all. The orders are in the Temporal UI, under order:demo:demo-' + run + '-…');
  } finally {
    await client.venue('PUT', '/v1/behaviour', USUAL).catch(() => undefined);
    await client.venue('POST', '/v1/feed/resume', {}).catch(() => undefined);
    await client.close();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
