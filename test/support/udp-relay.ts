import { createSocket } from 'node:dgram';

const HOST = '127.0.0.1';

/** Hands each datagram on to several receivers, as a network does that carries a feed to two machines. */
export interface UdpRelay {
  readonly port: number;
  /** While true, the receiver with this number gets nothing. */
  cut(receiver: number, isCut: boolean): void;
  close(): Promise<void>;
}

export async function startUdpRelay(ports: readonly number[]): Promise<UdpRelay> {
  const socket = createSocket('udp4');
  const cut = new Set<number>();
  socket.on('message', (datagram) => {
    for (const [receiver, port] of ports.entries()) {
      // Nobody need be there: a datagram that finds no receiver is gone.
      if (!cut.has(receiver)) socket.send(datagram, port, HOST, () => undefined);
    }
  });
  await new Promise<void>((resolve) => {
    socket.bind(0, HOST, resolve);
  });
  return {
    port: socket.address().port,
    cut: (receiver, isCut) => {
      if (isCut) cut.add(receiver);
      else cut.delete(receiver);
    },
    close: () =>
      new Promise((resolve) => {
        socket.close(resolve);
      }),
  };
}
