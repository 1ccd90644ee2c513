import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** How a re-request server answers one request: with these datagrams. */
export type Answer = (request: {
  readonly session: string;
  readonly from: bigint;
  readonly count: number;
}) => readonly Buffer[];

export interface RerequestServer {
  readonly port: number;
  /** Requests that have come. */
  readonly requests: () => number;
  /** From which port the last one came. */
  readonly askedFrom: () => number;
  readonly close: () => Promise<void>;
}

/** A re-request server on a real socket whose manners are the test's. */
export async function startRerequestServer(answer: Answer): Promise<RerequestServer> {
  const socket = createSocket('udp4');
  let [requests, askedFrom] = [0, 0];
  socket.on('message', (request, from) => {
    requests += 1;
    askedFrom = from.port;
    const answers = answer({
      session: request.toString('latin1', 0, 10).trimEnd(),
      from: request.readBigUInt64BE(10),
      count: request.readUInt16BE(18),
    });
    for (const datagram of answers) socket.send(datagram, from.port, from.address, () => undefined);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    requests: () => requests,
    askedFrom: () => askedFrom,
    close: () =>
      new Promise((resolve) => {
        socket.close(resolve);
      }),
  };
}
