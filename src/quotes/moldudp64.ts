import { assert } from '../domain/assert';

/** MoldUDP64: what a downstream packet holds. All integers are big-endian. */
const HEADER_BYTES = 20;
const SESSION_BYTES = 10;
const LENGTH_BYTES = 2;
const END_OF_SESSION = 0xffff;
const MAX_SEQUENCE = 2n ** 64n - 1n;
const MAX_MESSAGE_BYTES = 0xffff;

/** What can be wrong with a datagram; each is a label of its own in the packet counter. */
export type MoldFault =
  'short' | 'truncated_block' | 'trailing_bytes' | 'heartbeat_with_body' | 'sequence_overflow';

export type MoldPacket =
  | {
      readonly kind: 'messages';
      /** Without its padding. */
      readonly session: string;
      /** Of the first message; each further one is the next number. */
      readonly sequence: bigint;
      readonly messages: readonly Buffer[];
    }
  | { readonly kind: 'heartbeat'; readonly session: string; readonly sequence: bigint }
  | { readonly kind: 'end'; readonly session: string; readonly sequence: bigint }
  | { readonly kind: 'malformed'; readonly fault: MoldFault };

/** A packet that could be read. */
export type NumberedPacket = Exclude<MoldPacket, { readonly kind: 'malformed' }>;

/** Reads one datagram. Never throws: what cannot be read is named. The messages share the datagram's memory. */
export function parseMoldPacket(datagram: Buffer): MoldPacket {
  if (datagram.length < HEADER_BYTES) return { kind: 'malformed', fault: 'short' };
  const session = datagram.toString('latin1', 0, SESSION_BYTES).trimEnd();
  const sequence = datagram.readBigUInt64BE(SESSION_BYTES);
  const count = datagram.readUInt16BE(SESSION_BYTES + 8);
  if (count === 0 || count === END_OF_SESSION) {
    if (datagram.length > HEADER_BYTES) return { kind: 'malformed', fault: 'heartbeat_with_body' };
    return { kind: count === 0 ? 'heartbeat' : 'end', session, sequence };
  }
  // The next number must exist, too: a heartbeat will carry it.
  if (sequence + BigInt(count) > MAX_SEQUENCE) return { kind: 'malformed', fault: 'sequence_overflow' };
  const messages = readBlocks(datagram, count);
  return typeof messages === 'string'
    ? { kind: 'malformed', fault: messages }
    : { kind: 'messages', session, sequence, messages };
}

function readBlocks(datagram: Buffer, count: number): Buffer[] | MoldFault {
  const messages: Buffer[] = [];
  let offset = HEADER_BYTES;
  for (let block = 0; block < count; block += 1) {
    if (offset + LENGTH_BYTES > datagram.length) return 'truncated_block';
    const start = offset + LENGTH_BYTES;
    const end = start + datagram.readUInt16BE(offset);
    if (end > datagram.length) return 'truncated_block';
    messages.push(datagram.subarray(start, end));
    offset = end;
  }
  return offset === datagram.length ? messages : 'trailing_bytes';
}

/** A packet with messages; none makes it a heartbeat, whose number is the next one to come. */
export function encodeMoldPacket(session: string, sequence: bigint, messages: readonly Buffer[]): Buffer {
  assert(messages.length < END_OF_SESSION, `${messages.length} messages do not fit a packet`);
  const blocks = messages.flatMap((message) => {
    assert(message.length <= MAX_MESSAGE_BYTES, `${message.length} bytes do not fit a message`);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt16BE(message.length);
    return [length, message];
  });
  return Buffer.concat([encodeHeader(session, sequence, messages.length), ...blocks]);
}

/** The end of a session; `sequence` is the number that would have come next. */
export function encodeEndOfSession(session: string, sequence: bigint): Buffer {
  return encodeHeader(session, sequence, END_OF_SESSION);
}

/** Asks a re-request server for `count` messages from `sequence` on; it answers with packets, perhaps with fewer. */
export function encodeRequest(session: string, sequence: bigint, count: number): Buffer {
  assert(count > 0 && count < END_OF_SESSION, `${count} messages cannot be asked for at once`);
  return encodeHeader(session, sequence, count);
}

function encodeHeader(session: string, sequence: bigint, count: number): Buffer {
  assert(session.length <= SESSION_BYTES, `the session id ${JSON.stringify(session)} is too long`);
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(session.padEnd(SESSION_BYTES, ' '), 'latin1');
  header.writeBigUInt64BE(sequence, SESSION_BYTES);
  header.writeUInt16BE(count, SESSION_BYTES + 8);
  return header;
}
