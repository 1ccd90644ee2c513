import { createSocket } from 'node:dgram';
import type { Logger } from '../observability/logger';

export interface RerequestSocket {
  /** Hands each answer to `receive`. */
  readonly listen: (receive: (reply: Buffer) => void) => void;
  readonly send: (request: Buffer) => void;
  readonly close: () => Promise<void>;
}

/**
 * A socket that talks to one re-request server and hears nobody else: the kernel drops what comes from other addresses.
 * @throws when the address cannot be resolved
 */
export async function openRerequestSocket(
  server: { readonly host: string; readonly port: number },
  logger: Logger,
): Promise<RerequestSocket> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.connect(server.port, server.host, () => {
      socket.off('error', reject);
      resolve();
    });
  });
  // A server that is not there shows as an error here and as a request without an answer there, which is counted.
  socket.on('error', (error) => {
    logger.debug({ err: error }, 'the socket to the re-request server reported an error');
  });
  return {
    listen: (receive) => {
      socket.on('message', (reply) => {
        try {
          receive(reply);
        } catch (error) {
          logger.error({ err: error, bytes: reply.length }, 'an answer to a request could not be handled');
        }
      });
    },
    send: (request) => {
      socket.send(request, () => undefined);
    },
    close: () =>
      new Promise((resolve) => {
        socket.close(resolve);
      }),
  };
}
