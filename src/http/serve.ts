import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What is still not answered after this when a server closes is cut off. */
const CLOSE_TIMEOUT_MS = 8_000;
/** A connection that falls idle while the server closes is closed within this. */
const IDLE_SWEEP_MS = 50;

/** A server that listens. */
export interface Listening {
  readonly port: number;
  /** Takes no new connections, finishes the answers in flight within a deadline, then cuts what is left. */
  readonly close: () => Promise<void>;
}

/** Resolves when the server listens; rejects when the port cannot be had. Port 0 picks a free one. */
export async function serve(
  server: Server,
  address: { readonly host: string; readonly port: number },
  closeTimeoutMs = CLOSE_TIMEOUT_MS,
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return { port: (server.address() as AddressInfo).port, close: () => close(server, closeTimeoutMs) };
}

/**
 * Node closes only the connections that are idle at the moment of closing; one that is kept alive after the answer in
 * flight would hold the server open until its client lets go. So idle ones are swept until none is left.
 */
async function close(server: Server, closeTimeoutMs: number): Promise<void> {
  const sweep = setInterval(() => {
    server.closeIdleConnections();
  }, IDLE_SWEEP_MS);
  const cut = setTimeout(() => {
    server.closeAllConnections();
  }, closeTimeoutMs);
  try {
    await new Promise<void>((resolve, reject) => {
      server.close((error) => {
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}
