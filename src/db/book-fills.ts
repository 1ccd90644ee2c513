import { decimal } from '../domain/decimal';
import type { Execution } from '../domain/execution';
import { fixedPointOf } from '../domain/fixed-point';
import type { CountedFill, Totals } from '../domain/order-progress';
import type { Side } from '../domain/order';
import { applyTrade, type Position, type Trade } from '../domain/position';
import { foldWithCheckpoints, type PlacedTrade, type PositionAt } from '../domain/position-checkpoint';
import { amendFills, type AmendedFills } from './amend-fills';
import { fillIdentityText, insertFills } from './fills';
import type { LockedOrder } from './order-updates';
import type { PoolClient } from './pool';
import { markPlaces, refoldPosition } from './position-checkpoints';
import { lockPosition, updatePosition, type LockedPosition, type PositionChange } from './position-updates';

export interface BookedFills {
  /** What each new fill counts for. */
  readonly counted: ReadonlyMap<Execution, CountedFill>;
  /** Fills and amendments that were booked before their dedup row was purged: no effect. */
  readonly outsideWindow: ReadonlySet<Execution>;
  /** What busts and corrections of earlier fills add to the order's totals; undefined when there were none. */
  readonly amendedTotals: Totals | undefined;
}

const NOTHING_BOOKED: BookedFills = {
  counted: new Map(),
  outsideWindow: new Set(),
  amendedTotals: undefined,
};

/** A new fill in its place. */
interface PlacedFill {
  readonly execution: Execution;
  readonly counted: CountedFill;
  /** Of quantity zero when it is busted: it keeps its place and moves nothing. */
  readonly trade: PlacedTrade;
}

/**
 * Books the fills, busts and corrections among `claimed` and moves the position: first the amendments of earlier fills
 * are counted, by folding again from the last checkpoint before them, then the new fills are folded on.
 */
export async function bookFills(
  connection: PoolClient,
  order: LockedOrder,
  claimed: readonly Execution[],
): Promise<BookedFills> {
  const fills = claimed.filter((execution) => execution.type === 'FILL');
  const amendments = claimed.filter(({ type }) => type === 'BUST' || type === 'CORRECT');
  if (fills.length + amendments.length === 0) return NOTHING_BOOKED;

  const locked = await lockPosition(connection, order);
  const booked =
    fills.length === 0 ? new Set<string>() : await insertFills(connection, fills, locked.lastSequence);
  const fresh = fills.filter((fill) => booked.has(fillIdentityText(fill)));
  const amended = await amendFills(connection, order, fresh, amendments, locked.lastSequence);
  const outsideWindow = new Set([
    ...fills.filter((fill) => !booked.has(fillIdentityText(fill))),
    ...amended.outsideWindow,
  ]);
  if (fresh.length + amended.trades.size === 0) return { ...NOTHING_BOOKED, outsideWindow };

  const placed = placeFills(fills, booked, amended, locked.lastSequence);
  await movePosition(connection, order, locked, {
    amended,
    placed,
    end: locked.lastSequence + BigInt(fills.length),
  });
  return {
    counted: new Map(placed.map(({ execution, counted }) => [execution, counted])),
    outsideWindow,
    amendedTotals: amended.trades.size === 0 ? undefined : amended.totals,
  };
}

/** The new fills with what they count for, in the places that `insertFills` gave them. */
function placeFills(
  fills: readonly Execution[],
  booked: ReadonlySet<string>,
  amended: AmendedFills,
  lastSequence: bigint,
): PlacedFill[] {
  return fills.flatMap((execution, index) => {
    const identity = fillIdentityText(execution);
    if (!booked.has(identity)) return [];
    const counted = amended.trades.get(identity) ?? reported(execution);
    const sequence = lastSequence + BigInt(index) + 1n;
    return [{ execution, counted, trade: { ...tradeOf(execution.side, counted), sequence } }];
  });
}

/** The fill as it was reported. The contract has checked that both fields are there. */
function reported(fill: Execution): CountedFill {
  return { quantity: decimal(fill.quantity ?? ''), price: decimal(fill.price ?? '') };
}

function tradeOf(side: Side, { quantity, price }: CountedFill): Trade {
  const unsigned = fixedPointOf(quantity);
  return { quantity: side === 'buy' ? unsigned : -unsigned, price: fixedPointOf(price) };
}

async function movePosition(
  connection: PoolClient,
  order: LockedOrder,
  locked: LockedPosition,
  moves: { readonly amended: AmendedFills; readonly placed: readonly PlacedFill[]; readonly end: bigint },
): Promise<void> {
  const { oldestSequence, causes } = moves.amended;
  const start: PositionAt =
    oldestSequence === undefined
      ? { position: locked, sequence: locked.lastSequence }
      : await refoldPosition(connection, order, { from: oldestSequence, end: locked.lastSequence });
  const trades = moves.placed.map(({ trade }) => trade).filter(({ quantity }) => quantity !== 0n);
  const { after, checkpoints } = foldWithCheckpoints(start, trades, moves.end);
  await markPlaces(connection, order, checkpoints);
  const changes = [
    ...causes.map((execution) => ({ execution, after: start.position })),
    ...changesOf(start.position, moves.placed),
  ];
  await updatePosition(connection, order, { ...after.position, lastSequence: moves.end }, changes);
}

/** What the position was after each new fill. */
function changesOf(start: Position, placed: readonly PlacedFill[]): PositionChange[] {
  const changes: PositionChange[] = [];
  let after = start;
  for (const { execution, trade } of placed) {
    if (trade.quantity !== 0n) after = applyTrade(after, trade);
    changes.push({ execution, after });
  }
  return changes;
}
