import type { ExecutionType } from './execution';

export const ORDER_STATUSES = [
  'PENDING_NEW',
  'NEW',
  'UNACKNOWLEDGED',
  'PARTIALLY_FILLED',
  'FILLED',
  'CANCELLED',
  'REJECTED',
  'EXPIRED',
  'REFUSED',
] as const;

/**
 * PENDING_NEW: opened here, on its way to the venue. NEW: the venue has it. UNACKNOWLEDGED: the venue has said nothing
 * in time; it may have the order or not. REJECTED, EXPIRED: said by the venue. REFUSED: never opened, by our rules.
 */
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** What can happen to an order's status. A fill says how it leaves the order: some open quantity, or none. */
export type OrderStatusEvent =
  | 'ACKNOWLEDGED'
  | 'ACKNOWLEDGEMENT_OVERDUE'
  | 'FILLED_IN_PART'
  | 'FILLED_WHOLLY'
  | 'CANCELLED'
  | 'REJECTED'
  | 'EXPIRED'
  | 'FILLS_VOIDED';

const TERMINAL: ReadonlySet<OrderStatus> = new Set(['FILLED', 'CANCELLED', 'REJECTED', 'EXPIRED', 'REFUSED']);

/** Nothing more is expected from the venue. A terminal status never changes again, whatever still arrives. */
export function isTerminal(status: OrderStatus): boolean {
  return TERMINAL.has(status);
}

type Transitions = Readonly<Record<OrderStatusEvent, OrderStatus>>;

/** The same in every status that is not terminal, unless its own row says otherwise. */
const OPEN: Transitions = {
  ACKNOWLEDGED: 'NEW',
  ACKNOWLEDGEMENT_OVERDUE: 'UNACKNOWLEDGED',
  FILLED_IN_PART: 'PARTIALLY_FILLED',
  FILLED_WHOLLY: 'FILLED',
  CANCELLED: 'CANCELLED',
  REJECTED: 'REJECTED',
  EXPIRED: 'EXPIRED',
  // Every fill of the order was busted: it is working again with nothing filled.
  FILLS_VOIDED: 'NEW',
};

/** A terminal status keeps itself: the trade is booked, the order does not come back to life. */
function closed(status: OrderStatus): Transitions {
  return {
    // An acknowledgement that was overtaken by what closed the order.
    ACKNOWLEDGED: status,
    ACKNOWLEDGEMENT_OVERDUE: status,
    // A fill after a cancel or a reject is real: the venue had traded before it heard of us. Booked, flagged.
    FILLED_IN_PART: status,
    FILLED_WHOLLY: status,
    // A cancel that crossed a fill, or the same end reported under another execution id.
    CANCELLED: status,
    REJECTED: status,
    EXPIRED: status,
    FILLS_VOIDED: status,
  };
}

/** The state machine: one table of (status, event) → status. */
export const ORDER_STATUS_TABLE: Readonly<Record<OrderStatus, Transitions>> = {
  PENDING_NEW: OPEN,
  NEW: {
    ...OPEN,
    // The timer ran out while the acknowledgement was being applied.
    ACKNOWLEDGEMENT_OVERDUE: 'NEW',
  },
  UNACKNOWLEDGED: OPEN,
  PARTIALLY_FILLED: {
    ...OPEN,
    // A fill overtook the acknowledgement: the order has long been working.
    ACKNOWLEDGED: 'PARTIALLY_FILLED',
    ACKNOWLEDGEMENT_OVERDUE: 'PARTIALLY_FILLED',
  },
  FILLED: closed('FILLED'),
  CANCELLED: closed('CANCELLED'),
  REJECTED: closed('REJECTED'),
  EXPIRED: closed('EXPIRED'),
  REFUSED: closed('REFUSED'),
};

export function nextOrderStatus(status: OrderStatus, event: OrderStatusEvent): OrderStatus {
  return ORDER_STATUS_TABLE[status][event];
}

/** True when the execution says something that a closed order should not be hearing: worth an operator's look. */
export function isSurprising(status: OrderStatus, type: ExecutionType): boolean {
  if (!isTerminal(status)) return false;
  if (type === 'FILL' || type === 'BUST' || type === 'CORRECT') return true;
  return status === 'REFUSED' && type !== 'NEW';
}
