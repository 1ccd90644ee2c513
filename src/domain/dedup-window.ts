import { durationText } from './duration-text';

/** How long a broker keeps the messages of one topic. */
export interface TopicRetention {
  readonly topic: string;
  /** `retention.ms`; below zero the broker keeps messages for ever, as far as time is concerned. */
  readonly retentionMs: number;
  /** `retention.bytes`; below zero there is no bound by size. */
  readonly retentionBytes: number;
  /** `cleanup.policy` contains `delete`; a topic that is only compacted keeps its latest messages for ever. */
  readonly deletesByTime: boolean;
}

export interface WindowFacts {
  /** How long a dedup row lives. */
  readonly windowMs: number;
  readonly executions: TopicRetention;
  /** A dead letter may be put back on the topic for as long as it is kept: the hold. */
  readonly deadLetters: TopicRetention;
}

export type WindowVerdict =
  | { readonly safe: true; readonly reason: string }
  | {
      readonly safe: false;
      readonly code: 'TOO_SHORT' | 'UNLIMITED' | 'SIZE_ONLY' | 'COMPACTED';
      /** Names the three numbers and what would be right. */
      readonly reason: string;
    };

/**
 * May dedup rows end after `windowMs`? Only if no message can be read from the broker any more by then: neither from
 * the topic, nor put back from its dead letters. A repeat that meets no row would look like news.
 */
export function judgeWindow(facts: WindowFacts): WindowVerdict {
  const { windowMs, executions, deadLetters } = facts;
  const numbers =
    `window ${durationText(windowMs)}, retention of ${executions.topic} ${keptFor(executions)}, ` +
    `hold of ${deadLetters.topic} ${keptFor(deadLetters)}`;
  for (const topic of [executions, deadLetters]) {
    const endless = endlessBecause(topic);
    if (endless !== undefined)
      return { safe: false, code: endless.code, reason: `${endless.why} (${numbers})` };
  }
  const neededMs = executions.retentionMs + deadLetters.retentionMs;
  if (windowMs < neededMs) {
    return {
      safe: false,
      code: 'TOO_SHORT',
      reason:
        `the window must be at least retention plus hold, ${durationText(neededMs)} (${numbers}): ` +
        'raise DEDUP_WINDOW_DAYS, or lower retention.ms',
    };
  }
  return { safe: true, reason: numbers };
}

function keptFor({ retentionMs, deletesByTime }: TopicRetention): string {
  return retentionMs < 0 || !deletesByTime ? `without end (${retentionMs})` : durationText(retentionMs);
}

function endlessBecause(
  topic: TopicRetention,
): { readonly code: 'UNLIMITED' | 'SIZE_ONLY' | 'COMPACTED'; readonly why: string } | undefined {
  const mend = `set retention.ms of ${topic.topic}`;
  if (!topic.deletesByTime) {
    return {
      code: 'COMPACTED',
      why: `${topic.topic} is only compacted, so messages of any age can come again: add delete to its cleanup.policy`,
    };
  }
  if (topic.retentionMs >= 0) return undefined;
  if (topic.retentionBytes >= 0) {
    return {
      code: 'SIZE_ONLY',
      why: `${topic.topic} is bounded by size only, so messages of any age can come again: ${mend}`,
    };
  }
  return {
    code: 'UNLIMITED',
    why: `${topic.topic} keeps messages without end, so messages of any age can come again: ${mend}`,
  };
}
