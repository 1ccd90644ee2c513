import { activityInfo } from '@temporalio/activity';
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
 * Opens or refuses an order, once. The quote gate is asked, then ONE transaction stores key, order and answer; a key that
 * is answered already is left as it is. The gate's *closed* is a final refusal; its silence is a retryable failure until
 * `acceptBy`, and a refusal as EXPIRED after it. An order that is open is sent to the venue in the same breath: a step
 * of its own would cost the usual case another turn of the workflow. If that fails, `sent` is false and the workflow
 * sends it as an activity that operators see.
 */
export async function openOrder(
  deps: ActivityDependencies,
  command: OpenOrderCommand,
): Promise<OpenOrderResult> {
  const outcome = (await alreadyKnown(deps, command)) ?? (await open(deps, command));
  if (outcome.answer !== undefined) deps.announceAnswer(command.request, outcome.answer);
  const sent = outcome.result.outcome === 'opened' && (wasSent(outcome) || (await send(deps, command)));
  return { ...outcome.result, sent };
}

/**
 * The first, local attempt does not look: the API has just done so, and the transaction decides anyway. A later attempt
 * does, so that a key which is answered needs no gate, and an order whose time is over is not held up by one.
 */
async function alreadyKnown(
  deps: ActivityDependencies,
  command: OpenOrderCommand,
): Promise<OpenOrderOutcome | undefined> {
  if (activityInfo().isLocal) return undefined;
  const known = await step('looking for the key', () => findKnownOrder(deps.pool, command));
  return known.late && known.outcome === undefined ? store(deps, command, {}) : known.outcome;
}

/** A refusal goes to the workflow with its reason: the Temporal UI is where an operator looks first. */
async function open(deps: ActivityDependencies, command: OpenOrderCommand): Promise<OpenOrderOutcome> {
  const decision = await decide(deps, command.request.symbol);
  const outcome = await store(deps, command, decision);
  const { refusal } = decision;
  if (!outcome.stored || refusal === undefined || outcome.result.code !== refusal.code) return outcome;
  return { ...outcome, result: { ...outcome.result, reason: refusal.detail } };
}

function store(
  deps: ActivityDependencies,
  command: OpenOrderCommand,
  decision: OpenOrderDecision,
): Promise<OpenOrderOutcome> {
  return step('storing the order and its answer', () =>
    storeOrder(deps.pool, command, decision, deps.openOrderHooks),
  );
}

/**
 * The venue has spoken about the order, or is being asked about it: it was sent, and is never sent again blindly. This is
 * met when a run is reset to its beginning.
 */
function wasSent({ stored, result }: OpenOrderOutcome): boolean {
  return !stored && result.status !== 'PENDING_NEW';
}

async function send(deps: ActivityDependencies, { request }: OpenOrderCommand): Promise<boolean> {
  try {
    await deps.publishCommand({ command: 'NEW_ORDER', ...request });
    return true;
  } catch {
    // The workflow tries again, and its failure will be seen.
    return false;
  }
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
