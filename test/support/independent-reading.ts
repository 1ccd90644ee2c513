/**
 * A second reading of the captures of real venues, written from the specifications of the file and of MoldUDP64 and
 * sharing nothing with the product or with the other readers: it walks the bytes and adds up.
 */
export interface MoldReading {
  readonly session: string;
  readonly messages: number;
  readonly heartbeats: number;
  /** Numbers between the first and the last one that no packet carries. */
  readonly missing: number;
}

/** Of a little-endian pcap file whose Ethernet frames carry IPv4 without options. */
export function readMoldCapture(file: Uint8Array): MoldReading {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const reading = { session: '', messages: 0, heartbeats: 0, missing: 0 };
  let expected: number | undefined;
  for (let record = 24; record < file.length; record += 16 + view.getUint32(record + 8, true)) {
    let ethernetType = record + 16 + 12;
    if (view.getUint16(ethernetType) === 0x8100) ethernetType += 4;
    const mold = ethernetType + 2 + 20 + 8;
    reading.session = String.fromCharCode(...file.subarray(mold, mold + 10)).trim();
    const sequence = view.getUint32(mold + 10) * 2 ** 32 + view.getUint32(mold + 14);
    const count = view.getUint16(mold + 18);
    if (count === 0) reading.heartbeats += 1;
    let block = mold + 20;
    for (let message = 0; message < count; message += 1) block += 2 + view.getUint16(block);
    reading.messages += count;
    reading.missing += sequence - (expected ?? sequence);
    expected = sequence + count;
  }
  return reading;
}
