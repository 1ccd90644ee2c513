import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { openOrder, type Refusal } from '../../src/db/open-order';
import type { Pool } from '../../src/db/pool';
import type { OrderKey } from '../../src/domain/ids';
import { AnswerBoard } from '../../src/temporal/answer-board';
import type { AnswerExpectation, OrderGateway } from '../../src/temporal/order-gateway';

type Run = Awaited<ReturnType<OrderGateway['start']>>;

/**
 * Stands for Temporal in tests of the HTTP room: a start opens the order in the real database at once, unless a test
 * says otherwise.
 */
export class FakeOrderGateway implements OrderGateway {
  readonly board = new AnswerBoard();
  readonly starts: OpenOrderCommand[] = [];
  readonly cancels: OrderKey[] = [];
  /** Callers that wait for an announcement at this moment. */
  waiting = 0;
  onStart: (command: OpenOrderCommand) => Promise<Run> = (command) => this.openHere(command);
  onCancel: (key: OrderKey) => Promise<'requested' | 'closed'> = () => Promise.resolve('requested');
  acceptBy: string | undefined;
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** What the worker in the same process does. */
  async openHere(command: OpenOrderCommand, refusal?: Refusal): Promise<Run> {
    const { answer } = await this.open(command, refusal);
    if (answer !== undefined) this.board.announce(command.request, answer);
    return 'here';
  }

  /** What a worker in another process does: nothing is announced here. */
  open(command: OpenOrderCommand, refusal?: Refusal): ReturnType<typeof openOrder> {
    return openOrder(this.#pool, command, refusal === undefined ? {} : { refusal });
  }

  expectAnswer(key: OrderKey): AnswerExpectation {
    const { answer, release } = this.board.expect(key);
    this.waiting += 1;
    return {
      answer,
      release: () => {
        this.waiting -= 1;
        release();
      },
    };
  }

  start(command: OpenOrderCommand): Promise<Run> {
    this.starts.push(command);
    return this.onStart(command);
  }

  closedRunAcceptBy(): Promise<string | undefined> {
    return Promise.resolve(this.acceptBy);
  }

  requestCancel(key: OrderKey): Promise<'requested' | 'closed'> {
    this.cancels.push(key);
    return this.onCancel(key);
  }
}
