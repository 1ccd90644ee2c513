import { seeded } from './seeded';

/** One packet on its way on one of two lines; `index` is its place in the stream. */
export interface Delivery {
  readonly line: 0 | 1;
  readonly index: number;
}

export interface DisturbedLines {
  readonly deliveries: readonly Delivery[];
  /** Places that neither line delivers. */
  readonly lostOnBoth: number;
  readonly lostOnFirst: number;
}

const LOSS = 0.05;
const REPEAT = 0.05;
const OVERTAKING = 0.05;
/** How far the lines drift apart. */
const MAX_SKEW = 8;

/**
 * A stream of `count` packets sent on two lines, each of which loses and repeats some, and the first of which lets some
 * be overtaken. What is overtaken is whole on the second line, so that a packet is lost exactly when both have lost it.
 * The first and the last one always arrive: what lies outside of them is nobody's loss.
 */
export function disturbedLines(count: number, seed: number): DisturbedLines {
  const random = seeded(seed);
  const lose = (): boolean[] =>
    Array.from({ length: count }, (_, index) => index > 0 && index < count - 1 && random() < LOSS);
  const [lostA, lostB] = [lose(), lose()];
  const a = withRepeats(lostA, random);
  for (let at = 0; at + 1 < a.length; at += 1) {
    const [one, next] = [a[at], a[at + 1]];
    if (one === undefined || next !== one + 1 || one === 0 || next === count - 1) continue;
    if (lostB[one] === true || lostB[next] === true || random() > OVERTAKING) continue;
    [a[at], a[at + 1]] = [next, one];
    at += 1;
  }
  const deliveries = merge(a, withRepeats(lostB, random), random);
  const lostOnBoth = lostA.filter((lost, index) => lost && lostB[index]).length;
  return { deliveries, lostOnBoth, lostOnFirst: lostA.filter(Boolean).length };
}

function withRepeats(lost: readonly boolean[], random: () => number): number[] {
  return lost.flatMap((isLost, index) => {
    if (isLost) return [];
    return random() < REPEAT ? [index, index] : [index];
  });
}

/** Picks from either line by chance, unless it is too far ahead of the other. */
function merge(a: readonly number[], b: readonly number[], random: () => number): Delivery[] {
  const deliveries: Delivery[] = [];
  const waiting = { a: [...a], b: [...b] };
  while (waiting.a.length > 0 || waiting.b.length > 0) {
    const ahead = (waiting.a[0] ?? Infinity) - (waiting.b[0] ?? Infinity);
    const line = (Math.abs(ahead) > MAX_SKEW ? ahead < 0 : random() < 0.5) ? 0 : 1;
    const index = (line === 0 ? waiting.a : waiting.b).shift();
    if (index !== undefined) deliveries.push({ line, index });
  }
  return deliveries;
}
