import { applyTrade, type Position, type Trade } from './position';

/** A position with the place of the last fill that it holds. Place 0 is before every fill. */
export interface PositionAt {
  readonly position: Position;
  readonly sequence: bigint;
}

/** A trade with its place in its position's applied order. */
export interface PlacedTrade extends Trade {
  readonly sequence: bigint;
}

/** Places from one checkpoint to the next: a bust of a recent fill folds fewer trades again than twice as many. */
export const CHECKPOINT_INTERVAL = 256n;

export interface CheckpointedFold {
  readonly after: PositionAt;
  /** The position at each multiple of the interval above the start and up to the end. */
  readonly checkpoints: readonly PositionAt[];
}

/**
 * Folds `trades` on from `start`, up to the place `end`, and notes the checkpoints on the way. Places without a trade
 * (a busted fill, a number that was never given) are passed over. Folding in parts gives what folding at once gives.
 * @param trades in ascending order, with places above the start and up to `end`.
 */
export function foldWithCheckpoints(
  start: PositionAt,
  trades: Iterable<PlacedTrade>,
  end: bigint,
  interval = CHECKPOINT_INTERVAL,
): CheckpointedFold {
  const checkpoints: PositionAt[] = [];
  let position = start.position;
  let next = (start.sequence / interval + 1n) * interval;
  const passUpTo = (place: bigint): void => {
    for (; next <= place; next += interval) checkpoints.push({ position, sequence: next });
  };
  for (const trade of trades) {
    passUpTo(trade.sequence - 1n);
    position = applyTrade(position, trade);
  }
  passUpTo(end);
  return { after: { position, sequence: end }, checkpoints };
}
