import { createSocket } from 'node:dgram';
import { encodeMoldPacket } from '../../src/quotes/moldudp64';
import { encodeQuoteMessage } from '../../src/quotes/tekil-quote-message';

/**
 * A process of its own that sends quotes as fast as it can to whatever port it is told, until it is told another one.
 * Arguments: symbols, messages a packet.
 */
const [symbols = 100, perPacket = 1] = process.argv.slice(2).map(Number);
const HOST = '127.0.0.1';
/** Sent with one system call where the kernel allows it. */
const BATCH = 64;
const SEQUENCE_AT = 10;
const SESSION_BYTES = 10;
const FIRST_SOURCE_TIME_AT = 20 + 2 + 36;
const BLOCK_BYTES = 62;

const socket = createSocket('udp4');
const packets = Array.from({ length: Math.max(BATCH, Math.ceil(symbols / perPacket)) }, (_, index) =>
  encodeMoldPacket(
    'BENCH',
    0n,
    Array.from({ length: perPacket }, (_message, place) => {
      const symbol = `SYM${(index * perPacket + place) % symbols}`;
      return encodeQuoteMessage({ kind: 'tick', symbol, bid: 1.08, ask: 1.09, sourceTimeMs: Date.now() });
    }),
  ),
);
let port = 0;
let round = 0;
let next = 1n;
let at = 0;

function sendBatch(of: number): void {
  if (round !== of) return;
  const sourceTime = BigInt(Date.now()) * 1_000_000n;
  let waiting = BATCH;
  for (let sent = 0; sent < BATCH; sent += 1) {
    const packet = packets[at % packets.length];
    if (packet === undefined) throw new Error('there is nothing to send');
    at += 1;
    packet.writeBigUInt64BE(next, SEQUENCE_AT);
    for (let place = 0; place < perPacket; place += 1) {
      packet.writeBigUInt64BE(sourceTime, FIRST_SOURCE_TIME_AT + place * BLOCK_BYTES);
    }
    next += BigInt(perPacket);
    socket.send(packet, port, HOST, () => {
      waiting -= 1;
      if (waiting === 0) setImmediate(sendBatch, of);
    });
  }
}

process.on('message', (message: { readonly port: number; readonly session: string }) => {
  port = message.port;
  round += 1;
  next = 1n;
  for (const packet of packets) packet.write(message.session.padEnd(SESSION_BYTES), 'latin1');
  if (port !== 0) sendBatch(round);
});
