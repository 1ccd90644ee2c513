import type { ExecutionBatch } from '../contracts/execution-batch';
import type { DecisionBody, OperatorDecision, SetAsideContentBody } from '../contracts/operator-api';
import type { Execution } from '../domain/execution';
import type { OrderKey } from '../domain/ids';
import { applyExecutionsWithin } from './apply-executions';
import { lockOrder, updateOrder, type LockedOrder } from './order-updates';
import { firstRow, type Pool, type PoolClient, type Queryable } from './pool';
import { findSetAside } from './set-aside-events';
import { inTransaction } from './transaction';

/** What an operator wants done with an event that was set aside. */
export interface DecisionCommand {
  /** As the list of what was set aside gives it. */
  readonly eventId: string;
  readonly decision: OperatorDecision;
  /** Why, in the operator's words; 1 to 1000 characters. */
  readonly reason: string;
  /** Who decided; 1 to 256 characters. */
  readonly decidedBy: string;
  /** Of an `adopt` only: the order that it belongs to, when that is not the one which it names. */
  readonly order?: OrderKey;
}

export interface Decided {
  readonly decision: DecisionBody;
  /** True when the same had been decided before: nothing was changed. */
  readonly repeated: boolean;
  /**
   * What the run of its order is to be handed: it meets a repeat, and learns from it how the order stands now. A repeat
   * is harmless; when it cannot be handed over, deciding the same again gives it once more.
   */
  readonly forRun?: ExecutionBatch;
}

/** A decision that cannot be taken; nothing was changed. The message is for the operator. */
export class DecisionRefusedError extends Error {
  override readonly name = 'DecisionRefusedError';
  /** `decided`: the event was decided about otherwise. `impossible`: this decision does not fit this event. */
  readonly kind: 'unknown' | 'decided' | 'impossible';

  constructor(kind: DecisionRefusedError['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Reads an event's text as the consumer of the topic would, or says what is wrong with it. */
export type ReadPayload = (payload: string) => Execution | { readonly fault: string };

/** Each attempt but the first follows another operator's decision, after which there is nothing left to race for. */
const MAX_ATTEMPTS = 3;

/**
 * Decides about one event, in ONE transaction: its effect, the record of who decided what and why, and the order's
 * timeline. The same decision again changes nothing.
 * @throws {DecisionRefusedError}
 */
export async function decide(pool: Pool, command: DecisionCommand, read: ReadPayload): Promise<Decided> {
  for (let attempt = 1; ; attempt += 1) {
    const event = await findSetAside(pool, command.eventId);
    if (event === undefined) {
      throw new DecisionRefusedError(
        'unknown',
        `there is no event ${command.eventId}; a parked one is gone once its order has appeared`,
      );
    }
    if (event.decision !== null) return repeatOf(event, event.decision, command, read);
    const execution = command.decision === 'discard' ? undefined : executionFor(event, command, read);
    try {
      const decision = await inTransaction(pool, (connection) =>
        settle(connection, event, command, execution),
      );
      return { decision, repeated: false, ...forRun(decision, execution) };
    } catch (error) {
      if (!(error instanceof DecidedMeanwhile) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

class DecidedMeanwhile extends Error {
  override readonly name = 'DecidedMeanwhile';
}

function repeatOf(
  event: SetAsideContentBody,
  decision: DecisionBody,
  command: DecisionCommand,
  read: ReadPayload,
): Decided {
  const refused = (what: string): DecisionRefusedError =>
    new DecisionRefusedError(
      'decided',
      `${event.id} was decided before: ${what}, by ${decision.decidedBy} at ${decision.decidedAt} (${decision.reason})`,
    );
  if (decision.decision !== command.decision) throw refused(decision.decision);
  if (decision.decision === 'discard') return { decision, repeated: true };
  const execution = executionFor(event, command, read);
  const { accountId, clientOrderId } = execution;
  if (accountId !== decision.accountId || clientOrderId !== decision.clientOrderId) {
    throw refused(`${decision.decision} to order ${decision.clientOrderId} of account ${decision.accountId}`);
  }
  return { decision, repeated: true, ...forRun(decision, execution) };
}

function forRun({ outcome }: DecisionBody, execution: Execution | undefined): Pick<Decided, 'forRun'> {
  if (execution === undefined || outcome === 'parked') return {};
  const { accountId, clientOrderId } = execution;
  return { forRun: { key: { accountId, clientOrderId }, executions: [execution] } };
}

/** The execution as it is to be applied. */
function executionFor(event: SetAsideContentBody, command: DecisionCommand, read: ReadPayload): Execution {
  const { decision, order } = command;
  const fitting = event.reason === 'parked' ? 'adopt' : 'replay';
  if (decision !== fitting) {
    const what = event.reason === 'parked' ? 'parked' : 'in quarantine';
    throw new DecisionRefusedError(
      'impossible',
      `${event.id} is ${what}: decide ${fitting} or discard, not ${decision}`,
    );
  }
  const execution = read(event.payload);
  if ('fault' in execution) {
    throw new DecisionRefusedError('impossible', `${event.id} still cannot be read: ${execution.fault}`);
  }
  return { ...execution, ...order };
}

async function settle(
  connection: PoolClient,
  event: SetAsideContentBody,
  command: DecisionCommand,
  execution: Execution | undefined,
): Promise<DecisionBody> {
  const key = execution ?? orderNamedBy(event);
  // An order's lock is the first of every transaction that touches it.
  const outcome = execution === undefined ? 'discarded' : await apply(connection, event, execution);
  const order = key === undefined ? undefined : await lockOrder(connection, key);
  const decision = await insertDecision(connection, command, outcome, execution);
  await close(connection, event, decision.id);
  if (order !== undefined) await tellOrder(connection, order, event, decision);
  const { id, ...row } = decision;
  return row;
}

function orderNamedBy({ accountId, clientOrderId }: SetAsideContentBody): OrderKey | undefined {
  return accountId === null || clientOrderId === null ? undefined : { accountId, clientOrderId };
}

async function apply(
  connection: PoolClient,
  event: SetAsideContentBody,
  execution: Execution,
): Promise<DecisionBody['outcome']> {
  const { accountId, clientOrderId } = execution;
  const outcome = await applyExecutionsWithin(connection, {
    accountId,
    clientOrderId,
    executions: [execution],
  });
  const verdict = outcome.verdicts[0]?.verdict ?? 'parked';
  const order = `order ${clientOrderId} of account ${accountId}`;
  switch (verdict) {
    case 'conflict':
      throw new DecisionRefusedError(
        'impossible',
        `${execution.type} ${execution.executionId} was processed with other content, which stays; let the venue send a correction under a new id`,
      );
    case 'wrong_order':
      throw new DecisionRefusedError(
        'impossible',
        `${execution.type} ${execution.executionId} contradicts ${order}: compare symbol, side and the fill that it refers to`,
      );
    case 'parked':
      // What could not be read may be parked now like any other; what is parked already would only be parked again.
      if (event.reason === 'parked') throw new DecisionRefusedError('impossible', `there is no ${order}`);
      return verdict;
    case 'applied':
    case 'duplicate':
    case 'outside_window':
      return verdict;
  }
}

async function insertDecision(
  connection: PoolClient,
  { decision, reason, decidedBy }: DecisionCommand,
  outcome: DecisionBody['outcome'],
  order: OrderKey | undefined,
): Promise<DecisionBody & { readonly id: string }> {
  const row = await firstRow<DecisionBody & { readonly id: string }>(connection, {
    text: `
      insert into operator_decisions (decision, reason, decided_by, outcome, account_id, client_order_id)
      values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text)
      returning id as "id", decision as "decision", reason as "reason", decided_by as "decidedBy",
                outcome as "outcome", account_id as "accountId", client_order_id as "clientOrderId",
                to_char(decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "decidedAt"`,
    values: [decision, reason, decidedBy, outcome, order?.accountId ?? null, order?.clientOrderId ?? null],
  });
  if (row === undefined) throw new Error('an insert that cannot conflict gave no row');
  return row;
}

/** @throws {DecidedMeanwhile} when somebody else was faster, or the order has appeared and taken the event. */
async function close(
  connection: PoolClient,
  { id, reason }: SetAsideContentBody,
  decisionId: string,
): Promise<void> {
  const [table, column] =
    reason === 'parked' ? ['parked_executions', 'sequence'] : ['quarantined_events', 'id'];
  const result = await connection.query({
    text: `
      update ${table} set decision_id = $2::bigint where ${column} = $1::bigint and decision_id is null`,
    values: [id.slice(1), decisionId],
  });
  if (result.rowCount !== 1) throw new DecidedMeanwhile(`${id} was decided about at the same moment`);
}

/** The timeline says what was decided. The order no longer asks for attention because of this event. */
async function tellOrder(
  connection: PoolClient,
  order: LockedOrder,
  event: SetAsideContentBody,
  { decision, outcome }: DecisionBody,
): Promise<void> {
  const { source, type, executionId } = event;
  const attention =
    order.attention === event.detail ? await nextAttention(connection, order) : order.attention;
  await updateOrder(connection, order, { ...order, attention }, [
    { type: 'OPERATOR_DECISION', detail: { decision, outcome, event: { source, type, executionId } } },
  ]);
}

async function nextAttention(queryable: Queryable, key: OrderKey): Promise<string | null> {
  const row = await firstRow<{ detail: string }>(queryable, {
    text: `
      select detail as "detail"
      from quarantined_events
      where account_id = $1::text and client_order_id = $2::text and decision_id is null
        and reason in ('conflict', 'wrong_order')
      order by id limit 1`,
    values: [key.accountId, key.clientOrderId],
  });
  return row?.detail ?? null;
}
