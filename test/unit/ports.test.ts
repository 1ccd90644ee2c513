import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stablePorts } from '../../src/dev/ports';

const WANTED = { api: 'tcp', feed: 'udp' } as const;

let folder: string;
let taken: Server | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tekil-ports-'));
});
afterEach(() => {
  taken?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function take(port: number): Promise<void> {
  const server = createServer();
  taken = server;
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
}

describe('the ports of a start', () => {
  test('are the same at the next start', async () => {
    const file = join(folder, 'ports.json');
    const first = await stablePorts(file, WANTED);
    expect(new Set(Object.values(first)).size).toBe(2);
    expect(await stablePorts(file, WANTED)).toEqual(first);
  });

  test('change where somebody else took one meanwhile, and only there', async () => {
    const file = join(folder, 'ports.json');
    const first = await stablePorts(file, WANTED);
    await take(first.api);
    const second = await stablePorts(file, WANTED);
    expect(second.api).not.toBe(first.api);
    expect(second.feed).toBe(first.feed);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(second);
  });

  test('are found anew when the file cannot be read', async () => {
    const file = join(folder, 'ports.json');
    writeFileSync(file, '{"api":');
    expect(Object.keys(await stablePorts(file, WANTED))).toEqual(['api', 'feed']);
  });
});
