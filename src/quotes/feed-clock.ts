import type { QuoteBook } from './quote-book';

export interface FeedClock {
  /** The book may have something to wait for now. Cheap: it is called for each datagram. */
  readonly look: () => void;
  readonly close: () => Promise<void>;
}

const WATCH_INTERVAL_MS = 1_000;
/** The resolution of timers. */
const MIN_WAIT_MS = 1;

/** Tells a book that its time has come: when it asked to be told, and once a second to look at its lines. */
export function startFeedClock(book: Pick<QuoteBook, 'deadlineMs' | 'pass' | 'watchLines'>): FeedClock {
  let timer: NodeJS.Timeout | undefined;
  let armedForMs = Number.POSITIVE_INFINITY;
  const look = (): void => {
    const deadlineMs = book.deadlineMs;
    // A timer that finds nothing to do is harmless; one that comes too late is not.
    if (deadlineMs === null || deadlineMs >= armedForMs) return;
    clearTimeout(timer);
    armedForMs = deadlineMs;
    timer = setTimeout(
      () => {
        armedForMs = Number.POSITIVE_INFINITY;
        book.pass();
        look();
      },
      Math.max(MIN_WAIT_MS, Math.ceil(deadlineMs - performance.now())),
    );
  };
  const watch = setInterval(() => {
    book.watchLines();
  }, WATCH_INTERVAL_MS);
  return {
    look,
    close: () => {
      clearTimeout(timer);
      clearInterval(watch);
      return Promise.resolve();
    },
  };
}
