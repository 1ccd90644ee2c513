import { effectiveTrade } from '../domain/amendment';
import { ZERO } from '../domain/decimal';
import type { Execution } from '../domain/execution';
import type { CountedFill, Totals } from '../domain/order-progress';
import {
  fillIdentityText,
  findAmendments,
  findFills,
  insertAmendment,
  setEffective,
  type AmendmentRow,
  type FillRow,
} from './fills';
import type { LockedOrder } from './order-updates';
import type { PoolClient } from './pool';

export interface AmendedFills {
  /** What each fill with amendments counts for now, by identity; also of new fills that were amended before they came. */
  readonly trades: ReadonlyMap<string, CountedFill>;
  /** What the earlier fills among them count for now, less what they counted for before. */
  readonly totals: Totals;
  /** The place of the earliest fill that was in the position and counts for something else now. */
  readonly oldestSequence: bigint | undefined;
  /** The amendments of such fills, as they came. */
  readonly causes: readonly Execution[];
  /** Amendments that were kept before their dedup row was purged: no effect. */
  readonly outsideWindow: readonly Execution[];
}

/**
 * Keeps the amendments and sets what their fills count for. Also for new fills whose amendments came before them.
 * @param lastSequence the place of the last fill that the position holds.
 */
export async function amendFills(
  connection: PoolClient,
  order: LockedOrder,
  fresh: readonly Execution[],
  amendments: readonly Execution[],
  lastSequence: bigint,
): Promise<AmendedFills> {
  const { roots, outsideWindow } = await keepAmendments(connection, amendments);
  const touched = [...fresh, ...[...roots].map(([{ source }, executionId]) => ({ source, executionId }))];
  const trades = new Map<string, CountedFill>();
  const moved = new Map<string, bigint>();
  let totals: Totals = { quantity: ZERO, cost: ZERO };
  for (const [source, executionIds] of bySource(touched)) {
    const found = await findAmendments(connection, order, source, executionIds);
    if (found.length === 0) continue;
    for (const fill of await findFills(connection, source, executionIds)) {
      const trade = await amendFill(connection, order, fill, found);
      if (trade === undefined) continue;
      trades.set(fillIdentityText(fill), trade);
      const same = trade.quantity.eq(fill.effectiveQuantity) && trade.price.eq(fill.effectivePrice);
      if (same || fill.positionSequence > lastSequence) continue;
      moved.set(fillIdentityText(fill), fill.positionSequence);
      totals = addChange(totals, fill, trade);
    }
  }
  const causes = [...roots]
    .filter(([{ source }, executionId]) => moved.has(fillIdentityText({ source, executionId })))
    .map(([execution]) => execution);
  return { trades, totals, oldestSequence: least(moved.values()), causes, outsideWindow };
}

function addChange(totals: Totals, before: FillRow, now: CountedFill): Totals {
  const { effectiveQuantity, effectivePrice } = before;
  return {
    quantity: totals.quantity.plus(now.quantity).minus(effectiveQuantity),
    cost: totals.cost.plus(now.quantity.times(now.price)).minus(effectiveQuantity.times(effectivePrice)),
  };
}

/** The new amendments with the fill that each is about. A later one may change what an earlier one is about. */
async function keepAmendments(
  connection: PoolClient,
  amendments: readonly Execution[],
): Promise<{ readonly roots: ReadonlyMap<Execution, string>; readonly outsideWindow: readonly Execution[] }> {
  const roots = new Map<Execution, string>();
  const outsideWindow: Execution[] = [];
  for (const amendment of amendments) {
    const root = await insertAmendment(connection, amendment);
    if (root === undefined) {
      outsideWindow.push(amendment);
      continue;
    }
    for (const [earlier, itsRoot] of roots) {
      const follows = earlier.source === amendment.source && itsRoot === amendment.executionId;
      if (follows) roots.set(earlier, root);
    }
    roots.set(amendment, root);
  }
  return { roots, outsideWindow };
}

async function amendFill(
  connection: PoolClient,
  order: LockedOrder,
  fill: FillRow,
  found: readonly AmendmentRow[],
): Promise<CountedFill | undefined> {
  if (fill.accountId !== order.accountId || fill.clientOrderId !== order.clientOrderId) return undefined;
  const own = found.filter((amendment) => amendment.rootExecutionId === fill.executionId);
  if (own.length === 0) return undefined;
  const trade = effectiveTrade(fill, own);
  await setEffective(connection, fill, trade);
  return { quantity: trade.quantity, price: trade.price };
}

function bySource(
  fills: readonly { readonly source: string; readonly executionId: string }[],
): Map<string, string[]> {
  const ids = new Map<string, Set<string>>();
  for (const { source, executionId } of fills) {
    ids.set(source, (ids.get(source) ?? new Set()).add(executionId));
  }
  return new Map([...ids].map(([source, set]) => [source, [...set]]));
}

function least(numbers: Iterable<bigint>): bigint | undefined {
  let lowest: bigint | undefined;
  for (const number of numbers) if (lowest === undefined || number < lowest) lowest = number;
  return lowest;
}
