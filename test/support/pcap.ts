const GLOBAL_HEADER_BYTES = 24;
const RECORD_HEADER_BYTES = 16;
const ETHERNET_TYPE_AT = 12;
const VLAN = 0x8100;
const VLAN_TAG_BYTES = 4;
const UDP_HEADER_BYTES = 8;
/** Little-endian files, with microseconds or nanoseconds. */
const MAGIC = new Set([0xa1b2c3d4, 0xa1b23c4d]);

/** The UDP payloads of a classic capture of Ethernet frames with IPv4, in order. */
export function udpPayloads(capture: Buffer): Buffer[] {
  if (!MAGIC.has(capture.readUInt32LE(0))) throw new Error('this is no little-endian pcap file');
  const payloads: Buffer[] = [];
  let at = GLOBAL_HEADER_BYTES;
  while (at < capture.length) {
    const start = at + RECORD_HEADER_BYTES;
    at = start + capture.readUInt32LE(at + 8);
    payloads.push(udpDatagram(capture.subarray(start, at)).payload);
  }
  return payloads;
}

export interface UdpDatagram {
  readonly destinationPort: number;
  readonly payload: Buffer;
}

/** What an Ethernet frame carries. */
export function udpDatagram(frame: Buffer): UdpDatagram {
  let typeAt = ETHERNET_TYPE_AT;
  while (frame.readUInt16BE(typeAt) === VLAN) typeAt += VLAN_TAG_BYTES;
  const ip = typeAt + 2;
  const udp = ip + (frame.readUInt8(ip) & 0x0f) * 4;
  // Frames may be padded: the length that counts is UDP's own.
  const payload = frame.subarray(udp + UDP_HEADER_BYTES, udp + frame.readUInt16BE(udp + 4));
  return { destinationPort: frame.readUInt16BE(udp + 2), payload };
}
