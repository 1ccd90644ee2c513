import { createSocket } from 'node:dgram';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';

/**
 * Below the range from which the system takes ports for outgoing connections: a server that is stopped and started
 * again still finds its port free. Chosen at random, so that two checkouts that start together do not meet.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 29_999;
const MAX_ATTEMPTS = 200;

export type Transport = 'tcp' | 'udp';

/** A port of this machine that nobody listens on now. */
export async function freePort(transport: Transport = 'tcp'): Promise<number> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT + 1));
    if (await isFree(port, transport)) return port;
  }
  throw new Error(`no free ${transport} port found between ${FIRST_PORT} and ${LAST_PORT}`);
}

/** A free port for each name; the same as at the last start wherever nobody took it meanwhile. */
export async function stablePorts<Name extends string>(
  file: string,
  wanted: Readonly<Record<Name, Transport>>,
): Promise<Record<Name, number>> {
  const before = readPorts(file);
  const ports = {} as Record<Name, number>;
  for (const name of Object.keys(wanted) as Name[]) {
    const last = before[name];
    const keep = last !== undefined && (await isFree(last, wanted[name]));
    const port = keep ? last : await freePort(wanted[name]);
    ports[name] = port;
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(ports, null, 2)}\n`);
  return ports;
}

function readPorts(file: string): Readonly<Partial<Record<string, number>>> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

async function isFree(port: number, transport: Transport): Promise<boolean> {
  return new Promise((resolve) => {
    const no = (): void => {
      resolve(false);
    };
    if (transport === 'udp') {
      const socket = createSocket('udp4').once('error', no);
      socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
        socket.close(() => {
          resolve(true);
        });
      });
      return;
    }
    const server = createServer().once('error', no);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}
