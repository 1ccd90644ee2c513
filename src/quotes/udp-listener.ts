import { createSocket } from 'node:dgram';
import type { Logger } from '../observability/logger';

/** Room for a burst while this process is busy; the kernel may grant less. */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;

export interface UdpListener {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Hands each datagram to `receive`. A datagram that cannot be handled must not throw: the next one waits. */
export async function listenUdp(
  address: { readonly host: string; readonly port: number },
  receive: (datagram: Buffer) => void,
  logger: Logger,
): Promise<UdpListener> {
  const socket = createSocket({ type: 'udp4', reuseAddr: false });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(address.port, address.host, () => {
      socket.off('error', reject);
      resolve();
    });
  });
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
  } catch (error) {
    logger.warn({ err: error }, 'the receive buffer stays at its default size');
  }
  socket.on('message', receive);
  socket.on('error', (error) => {
    logger.error({ err: error }, 'the quote socket reported an error');
  });
  return {
    port: socket.address().port,
    close: () =>
      new Promise((resolve) => {
        socket.close(resolve);
      }),
  };
}
