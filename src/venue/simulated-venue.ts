import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionEvent } from '../contracts/execution-event';
import type { VenueCommand } from '../contracts/venue-command';
import { orderWorkflowId } from '../domain/ids';
import type { Logger } from '../observability/logger';
import { behaviourBook, behaviourFor, type BehaviourBook, type VenueBehaviour } from './behaviour';
import { CommandLog } from './command-log';
import { answerOf, planOrder, type VenueAnswer, type OrderPlan, type PlannedExecution } from './venue-plan';

export interface SimulatedVenueParts {
  /** The `source` of its executions. */
  readonly source: string;
  /** Resolves when Kafka has acknowledged; tries again by itself for as long as it can. */
  readonly publish: (events: readonly ExecutionEvent[]) => Promise<void>;
  /** Decimal text; undefined for a symbol without a price. */
  readonly lastPrice: (symbol: string) => string | undefined;
  readonly logger: Logger;
}

/** What the venue remembers of an order. */
interface VenueOrder {
  readonly command: VenueCommand;
  readonly behaviour: VenueBehaviour;
  readonly ending: AbortController;
  /** Everything that has happened, published or not. */
  readonly events: ExecutionEvent[];
  /** The last publication; the next one waits for it, so that executions leave in order. */
  published: Promise<void>;
  open: boolean;
}

/** When it is reached, the oldest order is forgotten; a real venue never forgets one of its day. */
const MAX_REMEMBERED_ORDERS = 100_000;

/**
 * A venue with its bridge, for demonstrations and tests. It keeps the contract of docs/venue-bridge.md and can be told
 * to misbehave in every way that real ones do. Its memory is this process: after a restart it knows nothing of the
 * orders before, and what was still to happen to them does not happen.
 */
export class SimulatedVenue {
  readonly commands = new CommandLog();
  behaviours: BehaviourBook = behaviourBook.parse({});
  readonly #parts: SimulatedVenueParts;
  readonly #orders = new Map<string, VenueOrder>();

  constructor(parts: SimulatedVenueParts) {
    this.#parts = parts;
  }

  /** Acts on a command once, however often it arrives. `receivedAtMs` is the stamp of its message. */
  receive(command: VenueCommand, receivedAtMs: number): void {
    const isNew = this.commands.record(command);
    // An answer to a status request is made of repeats: giving it again is harmless, and may be what is needed.
    if (command.command === 'STATUS_REQUEST') this.#answerStatus(command, receivedAtMs);
    else if (isNew && command.command === 'CANCEL') this.#cancel(command, receivedAtMs);
    else if (isNew) this.#open(command, receivedAtMs);
  }

  /** Ends what is under way; what was published stays published. */
  async stop(): Promise<void> {
    for (const order of this.#orders.values()) order.ending.abort();
    await Promise.all([...this.#orders.values()].map(({ published }) => published));
  }

  #open(command: VenueCommand, receivedAtMs: number): void {
    // Called unknown or cancelled before: what was said about it must stay true.
    if (this.#orders.has(orderWorkflowId(command))) return;
    const { source, lastPrice } = this.#parts;
    const order = this.#remember(command, true);
    const { behaviour } = order;
    const price = behaviour.price ?? command.limitPrice ?? lastPrice(command.symbol);
    void this.#live(order, planOrder({ command, behaviour, source, price, receivedAtMs }));
  }

  /** Lets happen what was planned, until it is done or a cancel ends it. */
  async #live(order: VenueOrder, { steps, staysOpen }: OrderPlan): Promise<void> {
    const startedAt = performance.now();
    for (const { afterMs, executions } of steps) {
      const waitMs = Math.max(0, startedAt + afterMs - performance.now());
      const ended = await sleep(waitMs, false, { signal: order.ending.signal }).catch(() => true);
      if (ended) return;
      this.#happen(order, executions);
    }
    order.open = staysOpen;
  }

  #cancel(command: VenueCommand, receivedAtMs: number): void {
    const { cancel } = this.#behaviourNow(command);
    if (cancel === 'ignore') return;
    const order = this.#orders.get(orderWorkflowId(command)) ?? this.#remember(command, true);
    // Filled or ended before: the executions have said so.
    if (!order.open) return;
    if (cancel === 'reject') {
      this.#answer(order, 'CANCEL_REJECTED', 'the venue does not cancel now', receivedAtMs, command.attempt);
      return;
    }
    order.open = false;
    order.ending.abort();
    this.#answer(order, 'CANCELLED', 'cancelled on request', receivedAtMs);
  }

  #answerStatus(command: VenueCommand, receivedAtMs: number): void {
    if (this.#behaviourNow(command).statusRequest === 'ignore') return;
    const known = this.#orders.get(orderWorkflowId(command));
    if (known === undefined) {
      this.#answer(this.#remember(command, false), 'REJECTED', 'the venue knows no such order', receivedAtMs);
    } else this.#publish(known, known.events);
  }

  #answer(
    order: VenueOrder,
    type: VenueAnswer,
    reason: string,
    receivedAtMs: number,
    attempt?: number,
  ): void {
    const { source } = this.#parts;
    const event = answerOf({ command: { ...order.command, attempt }, source, receivedAtMs }, type, reason);
    this.#happen(order, [{ event, published: true }]);
  }

  #happen(order: VenueOrder, executions: readonly PlannedExecution[]): void {
    order.events.push(...executions.map(({ event }) => event));
    const events = executions.filter(({ published }) => published).map(({ event }) => event);
    this.#publish(order, Array.from({ length: order.behaviour.copies }, () => events).flat());
  }

  #publish(order: VenueOrder, events: readonly ExecutionEvent[]): void {
    if (events.length === 0) return;
    const copy = [...events];
    order.published = order.published
      .then(() => this.#parts.publish(copy))
      .catch((error: unknown) => {
        this.#parts.logger.error(
          { err: error, order: orderWorkflowId(order.command) },
          'executions are lost',
        );
      });
  }

  #behaviourNow({ symbol }: VenueCommand): VenueBehaviour {
    return behaviourFor(this.behaviours, symbol);
  }

  #remember(command: VenueCommand, open: boolean): VenueOrder {
    if (this.#orders.size >= MAX_REMEMBERED_ORDERS) this.#forgetOldest();
    const order = {
      command,
      behaviour: this.#behaviourNow(command),
      ending: new AbortController(),
      events: [],
      published: Promise.resolve(),
      open,
    };
    this.#orders.set(orderWorkflowId(command), order);
    return order;
  }

  #forgetOldest(): void {
    const [oldest] = this.#orders.keys();
    if (oldest !== undefined) this.#orders.delete(oldest);
  }
}
