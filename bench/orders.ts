import { randomUUID } from 'node:crypto';
import {
  Client,
  Connection,
  WithStartWorkflowOperation,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
} from '@temporalio/client';
import { load, spread, spreadText, table, type Measured } from './support/load';
import { heading, startHelper, startRig, type Rig } from './support/rig';

/** New orders and repeats through HTTP, against the floors beneath them: all in one run, in turn. */
const ROUNDS = 5;
const CALLERS = 32;
const ORDERS_PER_ROUND = 400;
const ALONE_PER_ROUND = 60;
const REPEATS_PER_ROUND = 6_000;

const order = (clientOrderId: string) => ({
  clientOrderId,
  symbol: 'EURUSD',
  side: 'buy',
  quantity: '10',
  type: 'market',
  timeInForce: 'day',
});

async function post(url: string, key: string, body: unknown, expected: number): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  if (response.status !== expected) throw new Error(`${url} answered ${response.status}`);
}

function updateWithStart(client: Client, taskQueue: string): (index: number) => Promise<void> {
  return async () => {
    const request = order(randomUUID());
    await client.workflow.executeUpdateWithStart('submit', {
      startWorkflowOperation: new WithStartWorkflowOperation('noop', {
        taskQueue,
        workflowId: `noop:${request.clientOrderId}`,
        args: [request],
        workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
        workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      }),
      args: [request],
      updateId: 'submit',
    });
  };
}

interface Series {
  readonly name: string;
  readonly crowd: Measured[];
  readonly alone: Measured[];
}

async function measure(series: Series, count: number, call: (index: number) => Promise<void>): Promise<void> {
  series.alone.push(await load(1, Math.min(ALONE_PER_ROUND, count), call));
  series.crowd.push(await load(CALLERS, count, call));
}

const newSeries = (name: string): Series => ({ name, crowd: [], alone: [] });

async function measureOrders(
  rig: Rig,
  client: Client,
  taskQueue: string,
): Promise<readonly [Series, Series]> {
  const tekil = newSeries('Tekil: POST /v1/orders, a new order');
  const floor = newSeries('floor: an update-with-start that does nothing');
  const calls = [
    [tekil, () => post(`${rig.apiUrl}/v1/orders`, rig.apiKey, order(randomUUID()), 201)],
    [floor, updateWithStart(client, taskQueue)],
  ] as const;
  for (const [, call] of calls) await load(CALLERS, CALLERS * 2, call);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [series, call] of round % 2 === 0 ? calls : calls.toReversed()) {
      await measure(series, ORDERS_PER_ROUND, call);
    }
  }
  return [tekil, floor];
}

async function measureRepeats(rig: Rig, bareUrl: string): Promise<readonly [Series, Series]> {
  const known = Array.from({ length: 200 }, () => order(randomUUID()));
  await load(CALLERS, known.length, (index) =>
    post(`${rig.apiUrl}/v1/orders`, rig.apiKey, known[index], 201),
  );
  const tekil = newSeries('Tekil: POST /v1/orders, a repeat');
  const floor = newSeries('floor: bare Express + pg, one indexed read');
  const repeat = (url: string) => (index: number) => post(url, rig.apiKey, known[index % known.length], 201);
  const calls = [
    [tekil, repeat(`${rig.apiUrl}/v1/orders`)],
    [floor, repeat(`${bareUrl}/orders/bench`)],
  ] as const;
  for (const [, call] of calls) await load(CALLERS, 1_000, call);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [series, call] of round % 2 === 0 ? calls : calls.toReversed()) {
      await measure(series, REPEATS_PER_ROUND, call);
    }
  }
  return [tekil, floor];
}

function report([tekil, floor]: readonly [Series, Series]): void {
  const figures = ({ crowd, alone }: Series): string[] => [
    spreadText(spread(crowd.map(({ perSecond }) => perSecond))),
    spreadText(spread(crowd.map(({ p50Ms }) => p50Ms)), 1),
    spreadText(spread(crowd.map(({ p99Ms }) => p99Ms)), 1),
    spreadText(spread(alone.map(({ p50Ms }) => p50Ms)), 1),
    spreadText(spread(alone.map(({ p99Ms }) => p99Ms)), 1),
  ];
  const head = [
    '',
    `a second, ${CALLERS} callers`,
    'p50 ms',
    'p99 ms',
    'p50 ms, 1 caller',
    'p99 ms, 1 caller',
  ];
  console.log(
    `\n${table(
      head,
      [tekil, floor].map((series) => [series.name, ...figures(series)]),
    )}`,
  );
  const ratios = tekil.crowd.map(({ perSecond }, round) => perSecond / (floor.crowd[round]?.perSecond ?? 1));
  console.log(`\nRatio of rates, round by round: **${spreadText(spread(ratios), 2)}**`);
}

async function main(): Promise<void> {
  const rig = await startRig();
  // The venue stays quiet, so that the way of an order to its answer is all that is measured.
  await fetch(`${rig.venueUrl}/v1/behaviour`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ default: { order: 'rest', acknowledge: false } }),
  });
  const connection = await Connection.connect({ address: rig.temporalAddress });
  const taskQueue = 'bench-noop';
  const worker = await startHelper('noop-worker.ts', [rig.temporalAddress, taskQueue]);
  console.log(`${heading('npm run bench:orders')} Median (min–max) of ${ROUNDS} rounds, interleaved.`);
  report(await measureOrders(rig, new Client({ connection }), taskQueue));
  await worker.stop();
  await connection.close();
  const barePort = '28999';
  const bare = await startHelper('bare-server.ts', [rig.databaseUrl, barePort]);
  report(await measureRepeats(rig, `http://127.0.0.1:${barePort}`));
  await bare.stop();
  await rig.stop();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
