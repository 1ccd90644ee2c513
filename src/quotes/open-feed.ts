import type { Logger } from '../observability/logger';
import type { Metrics } from '../observability/metrics';
import { createAlarmLog } from './alarm-log';
import { startFeedClock } from './feed-clock';
import type { RecoveryOptions } from './gap-recovery';
import { QuoteBook, type QuoteBookOptions } from './quote-book';
import { openRerequestSocket } from './rerequest-socket';
import { listenUdp, type UdpAddress } from './udp-listener';
import { withinTime } from './within-time';

type Rules = Pick<
  QuoteBookOptions,
  'feed' | 'rules' | 'thresholds' | 'decoder' | 'gapWindowMs' | 'maxClockDriftMs'
>;

export interface OpenFeedOptions extends Rules {
  /** Where each line is heard; all of them carry the same numbers. */
  readonly lines: readonly (UdpAddress & { readonly line: string })[];
  /** The server that sends again what was missed, if there is one. */
  readonly recovery?: RecoveryOptions & { readonly host: string; readonly port: number };
}

export interface OpenFeed {
  readonly source: QuoteBook;
  /** Of the lines, in their order. */
  readonly ports: readonly number[];
  /** Resolves with the first datagram, or after `timeoutMs` without one. */
  readonly heardOrSilent: (timeoutMs: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Closable {
  readonly close: () => Promise<void>;
}

/**
 * Listens to a feed on all its lines, sees to its deadlines and asks for what is missing.
 * @throws when an address cannot be bound or resolved; what had been opened is closed then
 */
export async function openFeed(
  { lines, recovery, ...rules }: OpenFeedOptions,
  metrics: Metrics,
  logger: Logger,
): Promise<OpenFeed> {
  const parts: Closable[] = [];
  const opened = <Part extends Closable>(part: Part): Part => {
    parts.push(part);
    return part;
  };
  const close = async (): Promise<void> => {
    for (const part of parts.splice(0).toReversed()) await part.close();
  };
  try {
    const server = recovery && opened(await openRerequestSocket(recovery, logger));
    const options = { ...rules, lines: lines.map(({ line }) => line), onAlarm: createAlarmLog(logger) };
    const repairs = recovery && server ? { recovery: { ...recovery, send: server.send } } : {};
    const book = new QuoteBook({ ...options, ...repairs }, metrics);
    const clock = opened(startFeedClock(book));
    server?.listen((reply) => {
      book.receiveReply(reply);
      clock.look();
    });
    let hear: () => void = () => undefined;
    const heard = new Promise<void>((resolve) => (hear = resolve));
    const ports: number[] = [];
    for (const [index, address] of lines.entries()) {
      const receive = (datagram: Buffer): void => {
        book.receive(datagram, index);
        clock.look();
        hear();
      };
      ports.push(opened(await listenUdp(address, receive, logger)).port);
    }
    logger.info({ feed: rules.feed, ports, server: recovery?.port }, 'the feed is listened to');
    return { source: book, ports, close, heardOrSilent: (timeoutMs) => withinTime(heard, timeoutMs) };
  } catch (error) {
    await close();
    throw error;
  }
}
