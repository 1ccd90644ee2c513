import { effectiveTrade } from '../domain/amendment';
import { decimal } from '../domain/decimal';
import type { Execution } from '../domain/execution';
import type { CountedFill } from '../domain/order-progress';
import { applyTrade, foldTrades, type Position } from '../domain/position';
import {
  fillIdentityText,
  findAmendments,
  findFills,
  insertAmendment,
  insertFills,
  positionTrades,
  setEffective,
} from './fills';
import type { LockedOrder } from './order-updates';
import type { PoolClient } from './pool';
import { lockPosition, updatePosition } from './position-updates';

export interface BookedFills {
  /** What each new fill counts for. */
  readonly counted: ReadonlyMap<Execution, CountedFill>;
  /** Fills that were booked before their dedup row was purged: no effect. */
  readonly outsideWindow: ReadonlySet<Execution>;
  /** A bust or a correction changed a fill: the order's totals must be counted again. */
  readonly amended: boolean;
}

const NOTHING_BOOKED: BookedFills = { counted: new Map(), outsideWindow: new Set(), amended: false };

/**
 * Books the fills, busts and corrections among `claimed` and moves the position. Only new fills: the position is folded
 * on from where it stands. With an amendment: it is folded again from all its fills.
 */
export async function bookFills(
  connection: PoolClient,
  order: LockedOrder,
  claimed: readonly Execution[],
): Promise<BookedFills> {
  const fills = claimed.filter((execution) => execution.type === 'FILL');
  const amendments = claimed.filter(({ type }) => type === 'BUST' || type === 'CORRECT');
  if (fills.length + amendments.length === 0) return NOTHING_BOOKED;

  const position = await lockPosition(connection, order);
  const lastSequence = position.lastSequence + BigInt(fills.length);
  const booked =
    fills.length === 0 ? new Set<string>() : await insertFills(connection, fills, position.lastSequence);
  const fresh = fills.filter((fill) => booked.has(fillIdentityText(fill)));
  const amended = await amend(connection, order, fresh, amendments);

  const counted = new Map(fresh.map((fill) => [fill, amended.get(fillIdentityText(fill)) ?? reported(fill)]));
  const outsideWindow = new Set(fills.filter((fill) => !booked.has(fillIdentityText(fill))));
  if (counted.size + amended.size === 0) return { ...NOTHING_BOOKED, outsideWindow };
  const after =
    amended.size === 0 ? foldOn(position, counted) : foldTrades(await positionTrades(connection, order));
  await updatePosition(connection, order, { ...after, lastSequence });
  return {
    counted,
    outsideWindow,
    amended: amended.size > 0,
  };
}

function foldOn(position: Position, counted: ReadonlyMap<Execution, CountedFill>): Position {
  let after = position;
  for (const [fill, trade] of counted) after = applyTrade(after, { side: fill.side, ...trade });
  return after;
}

/** The fill as it was reported. The contract has checked that both fields are there. */
function reported(fill: Execution): CountedFill {
  return { quantity: decimal(fill.quantity ?? ''), price: decimal(fill.price ?? '') };
}

/**
 * Keeps the amendments and sets what their fills count for. Also for new fills whose amendments came before them.
 * Returns the changed fills by identity.
 */
async function amend(
  connection: PoolClient,
  order: LockedOrder,
  fresh: readonly Execution[],
  amendments: readonly Execution[],
): Promise<Map<string, CountedFill>> {
  const roots = new Map<string, Set<string>>();
  const touch = (source: string, executionId: string): void => {
    roots.set(source, (roots.get(source) ?? new Set()).add(executionId));
  };
  for (const fill of fresh) touch(fill.source, fill.executionId);
  for (const amendment of amendments) touch(amendment.source, await insertAmendment(connection, amendment));

  const changed = new Map<string, CountedFill>();
  for (const [source, ids] of roots) {
    const found = await findAmendments(connection, order, source, [...ids]);
    if (found.length === 0) continue;
    for (const fill of await findFills(connection, source, [...ids])) {
      const ours = fill.accountId === order.accountId && fill.clientOrderId === order.clientOrderId;
      const own = found.filter((amendment) => ours && amendment.rootExecutionId === fill.executionId);
      if (own.length === 0) continue;
      const trade = effectiveTrade(fill, own);
      await setEffective(connection, fill, trade);
      changed.set(fillIdentityText(fill), { quantity: trade.quantity, price: trade.price });
    }
  }
  return changed;
}
