import { createSocket } from 'node:dgram';
import { encodeMoldPacket } from '../../src/quotes/moldudp64';
import { encodeQuoteMessage } from '../../src/quotes/tekil-quote-message';

/**
 * A process of its own that sends one quote a packet at an even pace, until it is ended. Arguments: port, symbols,
 * packets a second.
 */
const [port = 0, symbols = 1, perSecond = 1] = process.argv.slice(2).map(Number);
const HOST = '127.0.0.1';
const BEAT_MS = 2;
/** What a beat that comes late may make up for; the rest is left out, so that a pause does not end in a flood. */
const MAX_PACKETS_PER_BEAT = 1_000;
const SEQUENCE_AT = 10;
const SOURCE_TIME_AT = 20 + 2 + 36;

const socket = createSocket('udp4');
const session = Date.now().toString(36).toUpperCase();
const packets = Array.from({ length: symbols }, (_, index) => {
  const quote = { kind: 'tick', symbol: `SYM${index}`, bid: 1.08, ask: 1.09, sourceTimeMs: 0 } as const;
  return encodeMoldPacket(session, 0n, [encodeQuoteMessage(quote)]);
});
let next = 1n;
let sentUntilMs = performance.now();

function beat(): void {
  const nowMs = performance.now();
  const due = Math.floor(((nowMs - sentUntilMs) * perSecond) / 1_000);
  if (due === 0) return;
  sentUntilMs = due > MAX_PACKETS_PER_BEAT ? nowMs : sentUntilMs + (due * 1_000) / perSecond;
  const sourceTime = BigInt(Date.now()) * 1_000_000n;
  for (let sent = 0; sent < Math.min(due, MAX_PACKETS_PER_BEAT); sent += 1) {
    const packet = packets[Number(next % BigInt(symbols))];
    if (packet === undefined) throw new Error('there is no symbol to quote');
    const copy = Buffer.from(packet);
    copy.writeBigUInt64BE(next, SEQUENCE_AT);
    copy.writeBigUInt64BE(sourceTime, SOURCE_TIME_AT);
    next += 1n;
    socket.send(copy, port, HOST, () => undefined);
  }
}

setInterval(beat, BEAT_MS);
console.log('ready');
