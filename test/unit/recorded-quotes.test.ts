import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { readRecordedQuotes } from '../../src/quotes/recorded-quotes';

const ROWS = '100,1.38700,1.38790\r\n100,1.38695,1.38794\r\n2500,1.387,1.3879\r\n';

/** A zip archive as the recorders write it: one deflated file. */
function aZip(rows: string, change: { files?: number; method?: number; checksum?: number } = {}): Buffer {
  const name = Buffer.from('20260314_quote.csv');
  const data = deflateRawSync(Buffer.from(rows));
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(name.length, 26);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(change.method ?? 8, 10);
  entry.writeUInt32LE(change.checksum ?? crc32(Buffer.from(rows)), 16);
  entry.writeUInt32LE(data.length, 20);
  entry.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(change.files ?? 1, 10);
  end.writeUInt32LE(local.length + name.length + data.length, 16);
  return Buffer.concat([local, name, data, entry, name, end]);
}

describe('a recorded day', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'recording-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });
  const read = async (bytes: Buffer) => {
    const path = join(folder, 'day.zip');
    await writeFile(path, bytes);
    return readRecordedQuotes(path);
  };

  test('is read row by row', async () => {
    await expect(read(aZip(ROWS))).resolves.toEqual([
      { atMs: 100, bid: 1.387, ask: 1.3879 },
      { atMs: 100, bid: 1.38695, ask: 1.38794 },
      { atMs: 2_500, bid: 1.387, ask: 1.3879 },
    ]);
  });

  test.each([
    ['no archive', Buffer.from(ROWS), 'it is not a zip archive'],
    ['an empty file', Buffer.alloc(0), 'it is not a zip archive'],
    ['two files', aZip(ROWS, { files: 2 }), 'it holds 2 files and must hold one'],
    ['another compression', aZip(ROWS, { method: 0 }), 'its file is not deflated'],
    ['damaged content', aZip(ROWS, { checksum: 1 }), 'its checksum is wrong'],
    ['an archive without its beginning', aZip(ROWS).subarray(10), 'its directory is damaged'],
    ['no rows', aZip(''), 'it has no rows'],
    ['a row of something else', aZip(`${ROWS}3000,1.2\r\n`), 'row 4 is not "millisecond,bid,ask"'],
    ['rows out of order', aZip(`${ROWS}99,1.2,1.3\r\n`), 'row 4 is older than the one before'],
  ])('that is %s is refused with the reason', async (_, bytes, reason) => {
    await expect(read(bytes)).rejects.toMatchObject({
      name: 'RecordingError',
      message: expect.stringMatching(new RegExp(`day\\.zip cannot be replayed: ${reason}$`)) as string,
    });
  });

  test('that is not there is refused with its path', async () => {
    await expect(readRecordedQuotes(join(folder, 'none.zip'))).rejects.toThrow(
      /none\.zip cannot be replayed/,
    );
  });
});
