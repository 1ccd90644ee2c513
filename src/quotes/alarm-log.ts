import type { Logger } from '../observability/logger';

/** Something that a person should know of. */
export type FeedAlarm =
  /** A number came with other content on another line: the lines do not carry the same. */
  | {
      readonly kind: 'content_conflict';
      readonly line: string;
      readonly session: string;
      readonly sequence: string;
    }
  /** The clock offset has moved by more than is allowed. */
  | { readonly kind: 'clock_drift'; readonly fromMs: number; readonly toMs: number }
  | { readonly kind: 'line_lost' | 'line_back'; readonly line: string };

/** Of one kind of alarm about one line; what comes in between is counted by its metric and by the next entry. */
const MIN_INTERVAL_MS = 1_000;

const MESSAGES: Readonly<Record<FeedAlarm['kind'], string>> = {
  content_conflict: 'one number came with different contents: the lines do not carry the same feed',
  clock_drift: 'the clock offset of the feed has moved: look at the time synchronisation of both sides',
  line_lost: 'a line of the feed has fallen silent',
  line_back: 'a line of the feed is heard',
};

/** Writes alarms to the log, of each kind and line at most one a second: a sick feed must not fill the disk. */
export function createAlarmLog(
  logger: Pick<Logger, 'warn'>,
  nowMs = () => performance.now(),
): (alarm: FeedAlarm) => void {
  const last = new Map<string, { readonly atMs: number; suppressed: number }>();
  return (alarm) => {
    const atMs = nowMs();
    const key = 'line' in alarm ? `${alarm.kind} ${alarm.line}` : alarm.kind;
    const before = last.get(key);
    if (before !== undefined && atMs - before.atMs < MIN_INTERVAL_MS) {
      before.suppressed += 1;
      return;
    }
    last.set(key, { atMs, suppressed: 0 });
    logger.warn({ ...alarm, suppressed: before?.suppressed ?? 0 }, MESSAGES[alarm.kind]);
  };
}
