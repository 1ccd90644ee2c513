import type { OpenOrderCommand, OpenOrderResult } from '../src/contracts/order-messages';
import type { GateVerdict } from '../src/contracts/quote-gate';
import {
  findKnownOrder,
  openOrder as storeOrder,
  type OpenOrderDecision,
  type OpenOrderOutcome,
  type Refusal,
} from '../src/db/open-order';
import type { ActivityDependencies } from './dependencies';
import { step } from './failures';

/**
 * Opens or refuses an order, once. A key that is answered already is left as it is. Otherwise the quote gate is asked,
 * then ONE transaction stores key, order and answer. The gate's *closed* is a final refusal; its silence is a
 * retryable failure until `acceptBy`, and a refusal as EXPIRED after it.
 */
export async function openOrder(
  deps: ActivityDependencies,
  command: OpenOrderCommand,
): Promise<OpenOrderResult> {
  const known = await step('looking for the key', () => findKnownOrder(deps.pool, command));
  if (known.outcome !== undefined) return announced(deps, command, known.outcome);
  // Past its time the order is refused whatever the gate says, so it is not asked.
  const decision = known.late ? {} : await decide(deps, command.request.symbol);
  const outcome = await step('storing the order and its answer', () =>
    storeOrder(deps.pool, command, decision, deps.openOrderHooks),
  );
  return announced(deps, command, outcome);
}

function announced(
  deps: ActivityDependencies,
  command: OpenOrderCommand,
  { answer, result }: OpenOrderOutcome,
): OpenOrderResult {
  if (answer !== undefined) deps.announceAnswer(command.request, answer);
  return result;
}

async function decide(deps: ActivityDependencies, symbol: string): Promise<OpenOrderDecision> {
  const stopTimer = deps.metrics.gateRequestSeconds.startTimer();
  const verdict = await step(`asking the quote gate about ${symbol}; nothing opens without it`, async () => {
    try {
      return await deps.askGate(symbol);
    } catch (error) {
      deps.metrics.gateRequests.inc({ verdict: 'none', code: 'UNAVAILABLE' });
      throw error;
    } finally {
      stopTimer();
    }
  });
  deps.metrics.gateRequests.inc({ verdict: verdict.verdict, code: verdict.code ?? 'OPEN' });
  const refusal = refusalOf(verdict);
  return { evidence: verdict, ...(refusal === undefined ? {} : { refusal }) };
}

function refusalOf(verdict: GateVerdict): Refusal | undefined {
  if (verdict.verdict === 'open') return undefined;
  return {
    code: verdict.code ?? 'NO_QUOTE',
    detail: verdict.reason ?? 'the quote gate is closed',
    facts: { quote: verdict },
  };
}
