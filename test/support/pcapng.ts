import { udpDatagram, type UdpDatagram } from './pcap';

const BYTE_ORDER_AT = 8;
const LITTLE_ENDIAN = 0x1a2b3c4d;
const ENHANCED_PACKET = 6;
const CAPTURED_BYTES_AT = 20;
const FRAME_AT = 28;

/** The UDP datagrams of a little-endian pcapng capture of Ethernet frames with IPv4, in order. */
export function pcapngDatagrams(capture: Buffer): UdpDatagram[] {
  if (capture.readUInt32LE(BYTE_ORDER_AT) !== LITTLE_ENDIAN)
    throw new Error('this is no little-endian pcapng file');
  const datagrams: UdpDatagram[] = [];
  for (let at = 0; at < capture.length; at += capture.readUInt32LE(at + 4)) {
    if (capture.readUInt32LE(at) !== ENHANCED_PACKET) continue;
    const frameAt = at + FRAME_AT;
    datagrams.push(
      udpDatagram(capture.subarray(frameAt, frameAt + capture.readUInt32LE(at + CAPTURED_BYTES_AT))),
    );
  }
  return datagrams;
}
