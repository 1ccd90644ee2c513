import { readFileSync } from 'node:fs';
import type { ExecutionEvent } from '../../src/contracts/execution-event';

/** One execution report of a recorded FIX session, as its file holds it. */
export interface FixReport {
  readonly orderId: string;
  readonly execId: string;
  readonly execRefId?: string;
  readonly execTransType?: string;
  readonly execType: string;
  readonly symbol: string;
  readonly side: string;
  readonly orderQty: string;
  readonly lastQty?: string;
  readonly lastPx?: string;
  readonly transactTime?: string;
}

export function readFixReports(path: string): FixReport[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as FixReport);
}

/** Tag 54. A netting position knows no difference between selling (2) and selling short (5). */
export function sideOfReport({ side }: FixReport): 'buy' | 'sell' {
  return side === '1' ? 'buy' : 'sell';
}

/** The order's name at Tekil. A bridge maps what the contract does not allow: this venue writes spaces into ids. */
export function orderOfReport({ orderId, symbol }: FixReport): {
  readonly clientOrderId: string;
  readonly symbol: string;
} {
  return { clientOrderId: orderId.replaceAll(' ', '_'), symbol: symbol.toUpperCase().replaceAll(' ', '.') };
}

/** Tag 150 → our type. What is left out says nothing that Tekil books: replaced, pending, done for the day. */
const TYPES: Readonly<Record<string, ExecutionEvent['type']>> = {
  '0': 'NEW',
  '1': 'FILL',
  '2': 'FILL',
  '4': 'CANCELLED',
  '8': 'REJECTED',
};
const TRANSACTION_CANCEL = '1';

/**
 * What a venue bridge would publish for a report; undefined when it says nothing that Tekil books. The order is named by
 * the venue's order id, which stays the same when a client order id is replaced.
 */
export function executionOfReport(report: FixReport, accountId: string): ExecutionEvent | undefined {
  const bust = report.execTransType === TRANSACTION_CANCEL;
  const type = bust ? 'BUST' : TYPES[report.execType];
  if (type === undefined) return undefined;
  return {
    source: 'IREACH',
    type,
    executionId: report.execId,
    ...(bust && report.execRefId !== undefined ? { refExecutionId: report.execRefId } : {}),
    accountId,
    ...orderOfReport(report),
    side: sideOfReport(report),
    ...(type === 'FILL' && report.lastQty !== undefined ? { quantity: report.lastQty } : {}),
    ...(type === 'FILL' && report.lastPx !== undefined ? { price: report.lastPx } : {}),
    executedAt: isoTime(report.transactTime ?? '20200302-00:00:00.000'),
  };
}

/** `20200302-11:14:36.490` → RFC 3339. */
function isoTime(fixTime: string): string {
  return `${fixTime.slice(0, 4)}-${fixTime.slice(4, 6)}-${fixTime.slice(6, 8)}T${fixTime.slice(9)}Z`;
}
