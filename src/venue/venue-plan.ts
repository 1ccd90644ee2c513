import type { ExecutionEvent } from '../contracts/execution-event';
import type { VenueCommand } from '../contracts/venue-command';
import type { VenueBehaviour } from './behaviour';

/** What will happen to an order at the venue, and when. */
export interface PlannedStep {
  /** After the command arrived. */
  readonly afterMs: number;
  /** In the order of their publication. */
  readonly executions: readonly PlannedExecution[];
}

export interface PlannedExecution {
  readonly event: ExecutionEvent;
  /** False: it happened, but the venue keeps quiet about it until it is asked. */
  readonly published: boolean;
}

export interface PlanInput {
  readonly command: VenueCommand;
  readonly behaviour: VenueBehaviour;
  readonly source: string;
  /** What the order trades at; undefined when nobody knows. */
  readonly price: string | undefined;
  /** Milliseconds since 1970, of the command itself: reading the command again gives the same executions. */
  readonly receivedAtMs: number;
}

/** The whole life of a new order, as far as no cancel comes between. */
export interface OrderPlan {
  readonly steps: readonly PlannedStep[];
  /** After the last step the order is still at work. */
  readonly staysOpen: boolean;
}

export function planOrder(input: PlanInput): OrderPlan {
  const { command, behaviour, price } = input;
  if (behaviour.order === 'reject') return rejected(input, 'the venue rejects orders of this symbol');
  if (behaviour.order === 'rest') return { steps: [acknowledgement(input)], staysOpen: true };
  if (price === undefined) return rejected(input, `there is no price for ${command.symbol}`);
  const pieces = cutIntoPieces(command.quantity, behaviour.pieces);
  const filled = pieces.slice(0, behaviour.filledPieces);
  const fills = filled.map((quantity, index) => {
    const afterMs = behaviour.acknowledgeAfterMs + (index + 1) * behaviour.fillAfterMs;
    return step(input, afterMs, 'FILL', `:${index + 1}`, { quantity, price });
  });
  const steps = [acknowledgement(input), ...fills];
  return { steps: behaviour.reverse ? reversed(steps) : steps, staysOpen: filled.length < pieces.length };
}

export type VenueAnswer = 'CANCELLED' | 'CANCEL_REJECTED' | 'REJECTED';

/** An execution that answers a command at once. Each refusal of a cancel is an event of its own. */
export function answerOf(
  input: Pick<PlanInput, 'command' | 'source' | 'receivedAtMs'>,
  type: VenueAnswer,
  reason: string,
): ExecutionEvent {
  const { attempt = 1 } = input.command;
  const suffix = type === 'CANCEL_REJECTED' && attempt > 1 ? `:${attempt}` : '';
  return executionOf(input, 0, type, suffix, { reason });
}

/**
 * Cuts a quantity into equal pieces, the last one taking what does not divide. Two more decimal places than the
 * quantity has are used; when even those are too coarse there are fewer pieces.
 */
export function cutIntoPieces(quantity: string, pieces: number): string[] {
  const [whole = '0', fraction = ''] = quantity.split('.');
  const places = Math.min(fraction.length + 2, MAX_PLACES);
  const units = BigInt(whole + fraction.padEnd(places, '0'));
  const count = units < BigInt(pieces) ? units : BigInt(pieces);
  const size = units / count;
  return Array.from({ length: Number(count) }, (_, index) => {
    const isLast = BigInt(index) === count - 1n;
    return textOf(isLast ? units - size * (count - 1n) : size, places);
  });
}

const MAX_PLACES = 18;

function textOf(units: bigint, places: number): string {
  const digits = units.toString().padStart(places + 1, '0');
  const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`;
  return text.replace(/\.?0+$/, '');
}

function acknowledgement(input: PlanInput): PlannedStep {
  const { acknowledge, acknowledgeAfterMs } = input.behaviour;
  const { executions } = step(input, acknowledgeAfterMs, 'NEW', '', {});
  return {
    afterMs: acknowledgeAfterMs,
    executions: executions.map(({ event }) => ({ event, published: acknowledge })),
  };
}

function rejected(input: PlanInput, reason: string): OrderPlan {
  const rejection = step(input, input.behaviour.acknowledgeAfterMs, 'REJECTED', '', { reason });
  return { steps: [rejection], staysOpen: false };
}

function reversed(steps: readonly PlannedStep[]): PlannedStep[] {
  const afterMs = steps.at(-1)?.afterMs ?? 0;
  return [{ afterMs, executions: steps.flatMap(({ executions }) => executions).toReversed() }];
}

type Details = Pick<ExecutionEvent, 'quantity' | 'price' | 'reason'>;

function step(
  input: PlanInput,
  afterMs: number,
  type: ExecutionEvent['type'],
  suffix: string,
  details: Details,
): PlannedStep {
  const event = executionOf(input, afterMs, type, suffix, details);
  return { afterMs, executions: [{ event, published: true }] };
}

/** Ids are functions of the order, so that a venue that forgot an order says the same about it again. */
function executionOf(
  { command, source, receivedAtMs }: Pick<PlanInput, 'command' | 'source' | 'receivedAtMs'>,
  afterMs: number,
  type: ExecutionEvent['type'],
  suffix: string,
  details: Details,
): ExecutionEvent {
  const { accountId, clientOrderId, symbol, side } = command;
  const name = `${accountId}:${clientOrderId}`;
  return {
    source,
    type,
    executionId: `${name}:${type}${suffix}`,
    accountId,
    clientOrderId,
    symbol,
    side,
    ...details,
    executedAt: new Date(receivedAtMs + afterMs).toISOString(),
    venueOrderId: `V-${name}`,
  };
}
