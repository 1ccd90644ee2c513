import { createSocket, type Socket } from 'node:dgram';
import type { Logger } from '../observability/logger';

/** Room for a burst while this process is busy; the kernel may grant less. What does not fit is lost and seen as a gap. */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;

export interface UdpListener {
  readonly port: number;
  readonly close: () => Promise<void>;
}

export interface UdpAddress {
  readonly host: string;
  readonly port: number;
  /** A multicast group to join. */
  readonly group?: string;
}

/**
 * Hands each datagram to `receive`, in the order of arrival and without a queue of its own.
 * @throws when the address cannot be bound or the group not joined
 */
export async function listenUdp(
  address: UdpAddress,
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
  if (address.group !== undefined) joinGroup(socket, address.group);
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
  } catch (error) {
    logger.warn({ err: error }, 'the receive buffer stays at its default size');
  }
  socket.on('message', (datagram) => {
    try {
      receive(datagram);
    } catch (error) {
      // Whoever can send a datagram must not be able to end the process.
      logger.error({ err: error, bytes: datagram.length }, 'a datagram could not be handled');
    }
  });
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

function joinGroup(socket: Socket, group: string): void {
  try {
    socket.addMembership(group);
  } catch (error) {
    socket.close();
    throw new Error(`the multicast group ${group} cannot be joined`, { cause: error });
  }
}
