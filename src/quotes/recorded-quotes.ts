import { readFile } from 'node:fs/promises';
import { crc32, inflateRawSync } from 'node:zlib';

/** One quote of a recorded day. */
export interface RecordedQuote {
  /** Milliseconds of the day. */
  readonly atMs: number;
  readonly bid: number;
  readonly ask: number;
}

/** A recording that cannot be used, and why. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
}

const END_OF_DIRECTORY = 0x06054b50;
const END_OF_DIRECTORY_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const DIRECTORY_ENTRY = 0x02014b50;
const DIRECTORY_ENTRY_BYTES = 46;
const LOCAL_HEADER = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;
const DEFLATED = 8;
/** A recorded day of one symbol has a few megabytes. */
const MAX_UNPACKED_BYTES = 256 * 1024 * 1024;
const ROW = /^(\d{1,8}),(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)$/;

/**
 * Reads a day of quotes: a zip archive with one file of rows `millisecond of the day,bid,ask`, oldest first.
 * @throws {RecordingError} naming the file and what is wrong with it
 */
export async function readRecordedQuotes(path: string): Promise<readonly RecordedQuote[]> {
  try {
    return parseRows(unzipOnlyFile(await readFile(path)).toString('latin1'));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new RecordingError(`${path} cannot be replayed: ${why}`, { cause: error });
  }
}

function parseRows(text: string): RecordedQuote[] {
  const quotes: RecordedQuote[] = [];
  let previousMs = 0;
  for (const [index, row] of text.split(/\r?\n/).entries()) {
    if (row === '') continue;
    const [, atMs, bid, ask] = ROW.exec(row) ?? [];
    if (atMs === undefined) throw new RecordingError(`row ${index + 1} is not "millisecond,bid,ask"`);
    if (Number(atMs) < previousMs) throw new RecordingError(`row ${index + 1} is older than the one before`);
    previousMs = Number(atMs);
    quotes.push({ atMs: previousMs, bid: Number(bid), ask: Number(ask) });
  }
  if (quotes.length === 0) throw new RecordingError('it has no rows');
  return quotes;
}

/** The archive's directory stands at its end; the file's own header may leave its sizes out. */
function unzipOnlyFile(zip: Buffer): Buffer {
  const end = findEndOfDirectory(zip);
  const files = zip.readUInt16LE(end + 10);
  if (files !== 1) throw new RecordingError(`it holds ${files} files and must hold one`);
  const entry = zip.readUInt32LE(end + 16);
  expectSignature(zip, entry, DIRECTORY_ENTRY, DIRECTORY_ENTRY_BYTES);
  if (zip.readUInt16LE(entry + 10) !== DEFLATED) throw new RecordingError('its file is not deflated');
  const checksum = zip.readUInt32LE(entry + 16);
  const packedBytes = zip.readUInt32LE(entry + 20);
  const header = zip.readUInt32LE(entry + 42);
  expectSignature(zip, header, LOCAL_HEADER, LOCAL_HEADER_BYTES);
  const nameAndExtraBytes = zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
  const start = header + LOCAL_HEADER_BYTES + nameAndExtraBytes;
  const file = inflateRawSync(zip.subarray(start, start + packedBytes), {
    maxOutputLength: MAX_UNPACKED_BYTES,
  });
  if (crc32(file) !== checksum) throw new RecordingError('its checksum is wrong');
  return file;
}

function findEndOfDirectory(zip: Buffer): number {
  const first = Math.max(0, zip.length - END_OF_DIRECTORY_BYTES - MAX_COMMENT_BYTES);
  for (let at = zip.length - END_OF_DIRECTORY_BYTES; at >= first; at -= 1) {
    if (zip.readUInt32LE(at) === END_OF_DIRECTORY) return at;
  }
  throw new RecordingError('it is not a zip archive');
}

function expectSignature(zip: Buffer, at: number, signature: number, bytes: number): void {
  const present = at + bytes <= zip.length && zip.readUInt32LE(at) === signature;
  if (!present) throw new RecordingError('its directory is damaged');
}
