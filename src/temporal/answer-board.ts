import type { StoredAnswer } from '../contracts/order-messages';
import { orderWorkflowId, type OrderKey } from '../domain/ids';
import type { AnswerExpectation } from './order-gateway';

/**
 * Where `openOrder` announces an answer to callers in the same process, right after its commit. Nothing depends on it:
 * a caller that hears nothing here reads the answer from PostgreSQL.
 */
export class AnswerBoard {
  readonly #waiting = new Map<string, Set<(answer: StoredAnswer) => void>>();

  expect(key: OrderKey): AnswerExpectation {
    const id = orderWorkflowId(key);
    const waiters = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiters);
    let resolver: ((answer: StoredAnswer) => void) | undefined;
    const answer = new Promise<StoredAnswer>((resolve) => {
      resolver = resolve;
      waiters.add(resolve);
    });
    const release = (): void => {
      if (resolver !== undefined) waiters.delete(resolver);
      if (waiters.size === 0 && this.#waiting.get(id) === waiters) this.#waiting.delete(id);
    };
    return { answer, release };
  }

  announce(key: OrderKey, answer: StoredAnswer): void {
    for (const resolve of this.#waiting.get(orderWorkflowId(key)) ?? []) resolve(answer);
  }
}
