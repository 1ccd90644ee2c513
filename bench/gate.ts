import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../src/dev/ports';
import { packageRoot } from '../src/package-root';
import { createGateClient } from '../src/quotes/gate-client';
import { load, spread, spreadText, table, type Measured } from './support/load';
import { heading, startHelper } from './support/rig';

/** What the order path waits for the gate, while quotes come in and while they do not; and what symbols weigh. */
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 3);
const ASKS = Number(process.env['BENCH_ASKS'] ?? 5_000);
const PACKETS_PER_SECOND = 20_000;
const SYMBOLS = 100;
const MANY_SYMBOLS = 10_000;
const CALLERS = [1, 16] as const;
const READY_TIMEOUT_MS = 30_000;
const SETTLE_MS = 3_000;
const HOST = '127.0.0.1';

interface QuoteHealth {
  readonly gateUrl: string;
  readonly feedPort: number;
  readonly residentMb: () => number;
  readonly packets: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** The process as it runs in production, from the build. */
async function startQuoteHealth(): Promise<QuoteHealth> {
  const [gatePort, adminPort, feedPort] = await Promise.all([freePort(), freePort(), freePort('udp')]);
  const child = spawn(process.execPath, [join(packageRoot(), 'dist', 'src', 'services', 'quote-health.js')], {
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'production',
      LOG_LEVEL: 'warn',
      // It uses none of these; the configuration is one for all processes.
      DATABASE_URL: 'postgres://nobody@127.0.0.1/nothing',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      KAFKA_BROKERS: '127.0.0.1:1',
      GATE_PORT: String(gatePort),
      ADMIN_PORT: String(adminPort),
      QUOTE_FEED_PORT: String(feedPort),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await awaitReady(adminPort);
  return {
    gateUrl: `http://${HOST}:${gatePort}`,
    feedPort,
    residentMb: () => residentMb(child),
    packets: () => packetCount(adminPort),
    stop: async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

async function awaitReady(adminPort: number): Promise<void> {
  const giveUpAt = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const ready = await fetch(`http://${HOST}:${adminPort}/readyz`).catch(() => undefined);
    if (ready?.ok === true) return;
    if (performance.now() > giveUpAt)
      throw new Error(`quote-health is not ready after ${READY_TIMEOUT_MS} ms`);
    await pause(100);
  }
}

function residentMb(child: ChildProcess): number {
  const status = readFileSync(`/proc/${child.pid ?? 0}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024);
}

async function packetCount(adminPort: number): Promise<number> {
  const text = await (await fetch(`http://${HOST}:${adminPort}/metrics`)).text();
  const values = [...text.matchAll(/^tekil_quote_packets_total\{.*outcome="messages".*\} (\d+)$/gm)];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

async function ask(gateUrl: string, callers: number): Promise<Measured> {
  const gate = createGateClient({ url: gateUrl, timeoutMs: 5_000 });
  return load(callers, ASKS, async (index) => {
    await gate.askGate(`SYM${index % SYMBOLS}`);
  });
}

async function measureAsks(name: string, health: QuoteHealth): Promise<string[][]> {
  const rows: string[][] = [];
  for (const callers of CALLERS) {
    await ask(health.gateUrl, callers);
    const rounds: Measured[] = [];
    const [before, startedAt] = [await health.packets(), performance.now()];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await ask(health.gateUrl, callers));
    const seconds = (performance.now() - startedAt) / 1_000;
    const heard = ((await health.packets()) - before) / seconds;
    const of = (pick: (round: Measured) => number): string => spreadText(spread(rounds.map(pick)), 2);
    rows.push([
      name,
      String(callers),
      of(({ p50Ms }) => p50Ms),
      of(({ p99Ms }) => p99Ms),
      Math.round(heard).toString(),
    ]);
  }
  return rows;
}

async function measureLatency(): Promise<void> {
  const health = await startQuoteHealth();
  const quiet = await measureAsks('no', health);
  const sender = await startHelper('paced-sender.ts', [
    String(health.feedPort),
    String(SYMBOLS),
    String(PACKETS_PER_SECOND),
  ]);
  await pause(SETTLE_MS);
  const busy = await measureAsks('yes', health);
  await sender.stop();
  await health.stop();
  const head = [
    `${PACKETS_PER_SECOND} packets a second`,
    'callers',
    'p50, ms',
    'p99, ms',
    'packets heard a second',
  ];
  console.log(table(head, [...quiet, ...busy]));
}

async function measureMemory(): Promise<void> {
  const health = await startQuoteHealth();
  const idle = health.residentMb();
  const sender = await startHelper('paced-sender.ts', [
    String(health.feedPort),
    String(MANY_SYMBOLS),
    String(PACKETS_PER_SECOND),
  ]);
  await pause(SETTLE_MS);
  const busy = health.residentMb();
  const answer = await fetch(`${health.gateUrl}/v1/symbols?limit=1`);
  const { matching } = (await answer.json()) as { readonly matching: number };
  await sender.stop();
  await health.stop();
  const what = ['resident memory, MiB', 'at its start', `with ${matching} symbols, under that load`];
  console.log(`\n${table(what, [['quote-health', String(idle), String(busy)]])}`);
}

async function main(): Promise<void> {
  const rounds = `Median (min–max) of ${ROUNDS} rounds of ${ASKS} asks`;
  console.log(`${heading('npm run bench:gate')} ${rounds} over kept-alive connections.\n`);
  await measureLatency();
  await measureMemory();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
