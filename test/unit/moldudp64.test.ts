import {
  encodeEndOfSession,
  encodeMoldPacket,
  parseMoldPacket,
  type MoldFault,
} from '../../src/quotes/moldudp64';
import { vector } from '../support/quote-feed-vectors';

const SESSION = 'TEKIL01';
const text = (...messages: string[]) => messages.map((message) => Buffer.from(message));
const packet = (...messages: string[]) => encodeMoldPacket(SESSION, 7n, text(...messages));

/** Changes a good packet into one that is not. */
const damaged = (change: (datagram: Buffer) => Buffer | undefined): Buffer => {
  const datagram = packet('one', 'two');
  return change(datagram) ?? datagram;
};

describe('a MoldUDP64 packet', () => {
  test('with several messages numbers them from its own number on, the empty one included', () => {
    expect(parseMoldPacket(packet('one', '', 'three'))).toEqual({
      kind: 'messages',
      session: SESSION,
      sequence: 7n,
      messages: text('one', '', 'three'),
    });
  });

  test('without messages is a heartbeat', () => {
    expect(parseMoldPacket(packet())).toEqual({ kind: 'heartbeat', session: SESSION, sequence: 7n });
  });

  test('may say that the session is over', () => {
    const end = encodeEndOfSession(SESSION, 8n);
    expect(parseMoldPacket(end)).toEqual({ kind: 'end', session: SESSION, sequence: 8n });
  });

  test('may have any 64-bit number, exactly', () => {
    const sequence = 2n ** 64n - 2n;
    expect(parseMoldPacket(encodeMoldPacket(SESSION, sequence, text('last')))).toMatchObject({ sequence });
  });

  test('is read and written as docs/quote-feed.md shows it', () => {
    const messages = [vector('tick'), vector('snapshot')];
    expect(parseMoldPacket(vector('packet'))).toEqual({
      kind: 'messages',
      session: SESSION,
      sequence: 1n,
      messages,
    });
    expect(encodeMoldPacket(SESSION, 1n, messages)).toEqual(vector('packet'));
    expect(encodeMoldPacket(SESSION, 3n, [])).toEqual(vector('heartbeat'));
    expect(encodeEndOfSession(SESSION, 3n)).toEqual(vector('end'));
  });
});

describe('a datagram that is no packet is named by its fault', () => {
  const faults: Readonly<Record<string, readonly [MoldFault, Buffer]>> = {
    'nothing at all': ['short', Buffer.alloc(0)],
    'a header without its last byte': ['short', packet().subarray(0, 19)],
    'a message that runs past the end': ['truncated_block', damaged((whole) => whole.subarray(0, -1))],
    'a length that is cut off': ['truncated_block', packet('one', '').subarray(0, -1)],
    'fewer messages than it says': ['truncated_block', damaged((whole) => void whole.writeUInt16BE(3, 18))],
    'more messages than it says': ['trailing_bytes', damaged((whole) => void whole.writeUInt16BE(1, 18))],
    'bytes after the last message': [
      'trailing_bytes',
      damaged((whole) => Buffer.concat([whole, Buffer.of(0)])),
    ],
    'a heartbeat with a body': ['heartbeat_with_body', damaged((whole) => void whole.writeUInt16BE(0, 18))],
    'an end with a body': ['heartbeat_with_body', damaged((whole) => void whole.writeUInt16BE(0xffff, 18))],
    'a number that leaves no next one': [
      'sequence_overflow',
      encodeMoldPacket(SESSION, 2n ** 64n - 1n, text('one')),
    ],
  };
  test.each(Object.entries(faults))('%s', (_, [fault, datagram]) => {
    expect(parseMoldPacket(datagram)).toEqual({ kind: 'malformed', fault });
  });
});

describe('what no packet can hold is refused when it is written', () => {
  test.each([
    ['a long session id', () => encodeMoldPacket('ELEVENCHARS', 1n, [])],
    ['a long message', () => encodeMoldPacket(SESSION, 1n, [Buffer.alloc(65_536)])],
    // This count means the end of the session.
    ['65535 messages', () => encodeMoldPacket(SESSION, 1n, new Array<Buffer>(65_535).fill(Buffer.alloc(0)))],
  ])('%s', (_, write) => {
    expect(write).toThrow(/too long|do not fit/);
  });
});
