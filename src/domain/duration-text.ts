const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** A duration in the largest unit that divides it, as people write it: `30 d`, `36 h`, `90 min`, `1500 ms`. */
export function durationText(ms: number): string {
  for (const [unit, length] of UNITS) {
    if (ms >= length && ms % length === 0) return `${ms / length} ${unit}`;
  }
  return `${ms} ms`;
}
