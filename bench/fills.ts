import { randomUUID } from 'node:crypto';
import { orderWorkflowId } from '../src/domain/ids';
import { createAcknowledgedProducer } from '../src/kafka/acknowledged-producer';
import { createKafka } from '../src/kafka/client';
import { topicNames } from '../src/kafka/topics';
import { silentLogger } from '../src/observability/logger';
import { load, spread, spreadText, table } from './support/load';
import { ACCOUNT_ID, heading, startRig, type Rig } from './support/rig';

/** Fills from Kafka to the committed position, and what each process holds after ten thousand orders. */
const ROUNDS = 3;
const SHAPES = [
  { orders: 400, fillsEach: 1 },
  { orders: 200, fillsEach: 5 },
  { orders: 60, fillsEach: 50 },
] as const;
const MEMORY_ORDERS = 10_000;
const CALLERS = 32;
const TIMEOUT_MS = 300_000;

const bodyOf = (clientOrderId: string, quantity: number, symbol = 'EURUSD') => ({
  clientOrderId,
  symbol,
  side: 'buy',
  quantity: String(quantity),
  type: 'market',
  timeInForce: 'day',
});

async function submit(rig: Rig, body: unknown): Promise<void> {
  const response = await fetch(`${rig.apiUrl}/v1/orders`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rig.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  if (response.status !== 201) throw new Error(`the API answered ${response.status}`);
}

async function fillCount(rig: Rig): Promise<number> {
  const { rows } = await rig.pool.query<{ count: string }>('select count(*) as count from fills');
  return Number(rows[0]?.count);
}

/** Publishes the fills of open orders at once and waits until the last one is committed. */
async function fillRound(rig: Rig, orders: number, fillsEach: number): Promise<number> {
  const ids = Array.from({ length: orders }, () => randomUUID());
  await load(CALLERS, orders, (index) => submit(rig, bodyOf(ids[index] ?? '', fillsEach)));
  const before = await fillCount(rig);
  const kafka = createKafka(
    { brokers: rig.kafkaBrokers.split(','), clientId: 'bench', requestTimeoutMs: 30_000 },
    silentLogger(),
  );
  const producer = createAcknowledgedProducer(kafka, 30_000);
  const messages = Array.from({ length: fillsEach }, (_, fill) =>
    ids.map((clientOrderId) => ({
      key: orderWorkflowId({ accountId: ACCOUNT_ID, clientOrderId }),
      value: JSON.stringify({
        source: 'BENCH',
        type: 'FILL',
        executionId: `${clientOrderId}-${fill}`,
        accountId: ACCOUNT_ID,
        clientOrderId,
        symbol: 'EURUSD',
        side: 'buy',
        quantity: '1',
        price: '1.0845',
        executedAt: new Date().toISOString(),
      }),
    })),
  ).flat();
  const startedAt = performance.now();
  await producer.send(topicNames('').executions, messages);
  while ((await fillCount(rig)) - before < messages.length) {
    if (performance.now() - startedAt > TIMEOUT_MS) throw new Error('the fills were not booked in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  await producer.close();
  return messages.length / seconds;
}

async function main(): Promise<void> {
  const rig = await startRig();
  const behave = async (behaviour: unknown): Promise<void> => {
    await fetch(`${rig.venueUrl}/v1/behaviour`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ default: behaviour }),
    });
  };
  await behave({ order: 'rest', acknowledge: false });
  console.log(`${heading('npm run bench:fills')} Median (min–max) of ${ROUNDS} rounds.\n`);
  await fillRound(rig, 50, 2);
  const rows: string[][] = [];
  for (const { orders, fillsEach } of SHAPES) {
    const rates: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rates.push(await fillRound(rig, orders, fillsEach));
    rows.push([`${orders} orders, ${fillsEach} fills each`, spreadText(spread(rates))]);
  }
  console.log(table(['from Kafka to the committed position', 'fills a second'], rows));

  const idle = rig.memoryMb();
  await behave({ order: 'fill', pieces: 1 });
  const before = await fillCount(rig);
  await load(CALLERS, MEMORY_ORDERS, () => submit(rig, bodyOf(randomUUID(), 1, 'GBPUSD')));
  while ((await fillCount(rig)) - before < MEMORY_ORDERS)
    await new Promise((resolve) => setTimeout(resolve, 500));
  const busy = rig.memoryMb();
  const memory = Object.keys(busy).map((name) => [name, String(idle[name]), String(busy[name])]);
  console.log(
    `\n${table(['resident memory, MiB', 'before', `after ${MEMORY_ORDERS} more orders, filled`], memory)}`,
  );
  await rig.stop();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
