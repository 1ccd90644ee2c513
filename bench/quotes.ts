import { fork, type ChildProcess } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createMetrics } from '../src/observability/metrics';
import { silentLogger } from '../src/observability/logger';
import { encodeMoldPacket } from '../src/quotes/moldudp64';
import { QuoteBook } from '../src/quotes/quote-book';
import { encodeQuoteMessage } from '../src/quotes/tekil-quote-message';
import { listenUdp } from '../src/quotes/udp-listener';
import { spread, spreadText, table } from './support/load';
import { heading } from './support/rig';

/**
 * What parsing and judging a packet costs, against a loop that receives it and does nothing; and what symbols weigh.
 * The sender is a process of its own and saturates the receiver. Rates are per second of the receiver's CPU, so that
 * the waiting of a receiver that is faster than the sender does not count.
 */
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7);
const ROUND_MS = 3_000;
const WARM_UP_MS = 1_000;
const SETTLE_MS = 200;
const HOST = '127.0.0.1';
const MEMORY_SYMBOLS = 10_000;
const THRESHOLDS = { maxSilenceMs: 1_000, maxSourceAgeMs: 2_000, maxClockOffsetMs: 500 };

interface Receiver {
  readonly port: number;
  readonly received: () => number;
  readonly close: () => Promise<unknown>;
}

async function startBare(): Promise<Receiver> {
  const socket = createSocket('udp4');
  let received = 0;
  socket.on('message', () => (received += 1));
  socket.bind(0, HOST);
  await once(socket, 'listening');
  socket.setRecvBufferSize(4 * 1024 * 1024);
  const close = async (): Promise<void> => {
    socket.close();
    await once(socket, 'close');
  };
  return { port: socket.address().port, received: () => received, close };
}

function startBook(lines: readonly string[]): () => Promise<Receiver> {
  return async () => {
    const book = newBook(lines);
    let received = 0;
    const receive = (datagram: Buffer): void => {
      received += 1;
      book.receive(datagram);
      if (lines.length > 1) book.receive(datagram, 1);
    };
    const { port, close } = await listenUdp({ host: HOST, port: 0 }, receive, silentLogger());
    return { port, received: () => received, close };
  };
}

function newBook(lines: readonly string[]): QuoteBook {
  const rules = { kind: 'full', heartbeatSequence: 'next' } as const;
  return new QuoteBook({ feed: 'bench', rules, thresholds: THRESHOLDS, lines }, createMetrics());
}

interface Rate {
  readonly perCpuSecond: number;
  readonly perSecond: number;
}

let sessions = 0;

async function measure(start: () => Promise<Receiver>, sender: ChildProcess): Promise<Rate> {
  const receiver = await start();
  sessions += 1;
  sender.send({ port: receiver.port, session: `B${sessions}` });
  await pause(WARM_UP_MS);
  const [before, cpu, startedAt] = [receiver.received(), process.cpuUsage(), performance.now()];
  await pause(ROUND_MS);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - startedAt) / 1_000;
  const packets = receiver.received() - before;
  sender.send({ port: 0, session: '' });
  await pause(SETTLE_MS);
  await receiver.close();
  return { perCpuSecond: packets / ((user + system) / 1e6), perSecond: packets / seconds };
}

/** The rounds of all are interleaved, so that a slower minute of the machine hits each of them. */
async function compare(symbols: number, perPacket: number): Promise<string[][]> {
  const sender = fork(require.resolve('./support/quote-sender'), [String(symbols), String(perPacket)]);
  const subjects = [
    { name: 'bare receive loop', start: startBare, rates: [] as Rate[] },
    { name: 'parse + state', start: startBook(['A']), rates: [] as Rate[] },
    { name: 'two lines, each packet twice', start: startBook(['A', 'B']), rates: [] as Rate[] },
  ];
  for (const { start } of subjects) await measure(start, sender);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { start, rates } of subjects) rates.push(await measure(start, sender));
  }
  sender.kill();
  await once(sender, 'exit');
  const bare = subjects[0]?.rates ?? [];
  return subjects.map(({ name, rates }) => [
    `${name}, ${symbols} symbols, ${perPacket} a packet`,
    spreadText(spread(rates.map(({ perCpuSecond }) => perCpuSecond))),
    spreadText(spread(rates.map(({ perSecond }) => perSecond))),
    spreadText(
      spread(rates.map(({ perCpuSecond }, round) => perCpuSecond / (bare[round]?.perCpuSecond ?? NaN))),
      2,
    ),
  ]);
}

function memoryOfSymbols(): string {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const book = newBook(['A']);
  const feed = (): void => {
    for (let index = 0; index < MEMORY_SYMBOLS; index += 1) {
      const quote = {
        kind: 'tick',
        symbol: `SYMBOL-${index}`,
        bid: 1,
        ask: 1,
        sourceTimeMs: Date.now(),
      } as const;
      book.receive(encodeMoldPacket('BENCH', BigInt(index + 1), [encodeQuoteMessage(quote)]));
    }
  };
  collect();
  const before = process.memoryUsage().heapUsed;
  feed();
  collect();
  const bytes = process.memoryUsage().heapUsed - before;
  if (book.symbols().length !== MEMORY_SYMBOLS) throw new Error('the book has lost symbols');
  return `${MEMORY_SYMBOLS} symbols: ${(bytes / 2 ** 20).toFixed(1)} MiB of heap, ${Math.round(bytes / MEMORY_SYMBOLS)} bytes each.`;
}

async function main(): Promise<void> {
  console.log(`${heading('npm run bench:quotes')} Median (min–max) of ${ROUNDS} rounds.\n`);
  const rows = [...(await compare(100, 1)), ...(await compare(10_000, 10))];
  console.log(
    table(
      ['receiver', 'packets per second of CPU', 'packets a second', 'ratio to the bare loop, per CPU'],
      rows,
    ),
  );
  console.log(`\n${memoryOfSymbols()}`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
