import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Execution } from '../src/domain/execution';
import { orderSummary } from '../src/domain/order';
import { isTerminal, type OrderStatus } from '../src/domain/order-status';
import { localFirst } from './local-first';
import {
  cancelUpdate,
  executionsSignal,
  orderRunQuery,
  orderStatusAttribute,
  type CancelState,
  type CarriedOrder,
  type OrderWorkflowInput,
  type OrderWorkflowResult,
} from './messages';

/** Most executions that one transaction books. */
export const MAX_EXECUTIONS_PER_BATCH = 500;

/** What a run knows. Everything here can be rebuilt from its history; PostgreSQL holds the truth. */
interface OrderRun {
  readonly input: OrderWorkflowInput;
  opened: CarriedOrder['opened'] | undefined;
  status: OrderStatus;
  cumulativeQuantity: string;
  acknowledged: boolean;
  acknowledgementOverdue: boolean;
  cancel: CancelState;
  cancelRejections: number;
  queue: Execution[];
  signals: number;
}

/**
 * One logical order, from its first request to its end. Its id is account and client order id, so a repeat attaches to
 * this run; its history is the outbox of the venue; its queue keeps executions in order, one batch at a time.
 */
export async function orderWorkflow(input: OrderWorkflowInput): Promise<OrderWorkflowResult> {
  const run = setUp(input);
  const opened = run.opened ?? (await open(run));
  const timers = opened.outcome === 'opened' ? startTimers(run) : undefined;
  await follow(run);
  timers?.cancel();
  await condition(allHandlersFinished);
  if (!isFinished(run)) await handOver(run);
  return {
    outcome: opened.outcome,
    status: run.status,
    ...(opened.code === undefined ? {} : { code: opened.code }),
    ...(opened.reason === undefined ? {} : { reason: opened.reason }),
    cumulativeQuantity: run.cumulativeQuantity,
  };
}

/** The handlers are set before anything is awaited, so that no signal or update finds the run without them. */
function setUp(input: OrderWorkflowInput): OrderRun {
  const run: OrderRun = { input, ...startingPoint(input.carried), acknowledgementOverdue: false, signals: 0 };
  setHandler(executionsSignal, (executions) => {
    run.queue.push(...executions);
    run.signals += 1;
  });
  setHandler(cancelUpdate, () => {
    if (run.cancel === 'none') run.cancel = 'requested';
    return run.status;
  });
  setHandler(orderRunQuery, () => ({
    status: run.status,
    cumulativeQuantity: run.cumulativeQuantity,
    queuedExecutions: run.queue.length,
    cancelRequested: run.cancel !== 'none',
  }));
  return run;
}

function startingPoint(carried: CarriedOrder | undefined) {
  if (carried !== undefined) {
    return { ...carried, cancelRejections: carried.cancelRejections ?? 0, queue: [...carried.undrained] };
  }
  return {
    opened: undefined,
    status: 'PENDING_NEW',
    cumulativeQuantity: '0',
    acknowledged: false,
    cancel: 'none',
    cancelRejections: 0,
    queue: [],
  } as const satisfies Partial<OrderRun>;
}

async function open(run: OrderRun): Promise<CarriedOrder['opened']> {
  const { command } = run.input;
  const opened = await localFirst('openOrder', command, `open ${orderSummary(command.request)}`);
  run.opened = opened;
  if (opened.outcome === 'opened' && !opened.sent) await send(run, 'NEW_ORDER');
  if (opened.parkedExecutions) await book(run, [], true);
  show(run, opened.status);
  return opened;
}

async function follow(run: OrderRun): Promise<void> {
  while (!isFinished(run) && !mustHandOver(run)) {
    await condition(() => hasWork(run));
    if (run.queue.length > 0) await book(run, run.queue.splice(0, MAX_EXECUTIONS_PER_BATCH));
    else if (run.cancel === 'requested') await cancel(run);
    else if (run.acknowledgementOverdue) await askForStatus(run);
  }
}

function isFinished(run: OrderRun): boolean {
  const done = run.opened?.outcome !== 'opened' || isTerminal(run.status);
  return done && run.queue.length === 0;
}

function mustHandOver(run: OrderRun): boolean {
  return workflowInfo().continueAsNewSuggested || run.signals >= run.input.maxSignalsPerRun;
}

function hasWork(run: OrderRun): boolean {
  return run.queue.length > 0 || run.cancel === 'requested' || run.acknowledgementOverdue;
}

async function book(run: OrderRun, executions: readonly Execution[], includeParked = false): Promise<void> {
  const { accountId, clientOrderId } = run.input.command.request;
  const result = await localFirst(
    'applyExecutions',
    { accountId, clientOrderId, executions, ...(includeParked ? { includeParked } : {}) },
    `book ${executions.length} executions`,
  );
  run.cumulativeQuantity = result.cumulativeQuantity ?? run.cumulativeQuantity;
  show(run, result.status ?? run.status);
  // The refusal of a cancel says nothing about whether the venue has the order.
  run.acknowledged ||= run.status !== 'PENDING_NEW' && run.status !== 'UNACKNOWLEDGED';
  await noteRefusedCancel(run, result.cancelRejections ?? 0);
}

/**
 * The venue would not cancel: usually because it has filled the order, and that may not have been heard here. It is
 * asked for all that it knows, once for each cancel that was sent; the client may ask for another cancel.
 */
async function noteRefusedCancel(run: OrderRun, cancelRejections: number): Promise<void> {
  if (cancelRejections <= run.cancelRejections) return;
  run.cancelRejections = cancelRejections;
  if (run.cancel !== 'sent') return;
  run.cancel = 'none';
  if (!isTerminal(run.status)) await send(run, 'STATUS_REQUEST');
}

async function cancel(run: OrderRun): Promise<void> {
  const { accountId, clientOrderId } = run.input.command.request;
  const key = { accountId, clientOrderId };
  const { status } = await localFirst(
    'requestCancel',
    { key, reason: 'requested' },
    'record the cancel request',
  );
  run.cancel = 'sent';
  // An order that closed in the meantime has nothing left to cancel.
  if (status !== undefined && !isTerminal(status)) await send(run, 'CANCEL');
  show(run, status ?? run.status);
}

/** The venue has said nothing in time. It is asked, never sent the order again blindly, never assumed to have refused. */
async function askForStatus(run: OrderRun): Promise<void> {
  run.acknowledgementOverdue = false;
  const { accountId, clientOrderId } = run.input.command.request;
  const { status } = await localFirst(
    'markUnacknowledged',
    { accountId, clientOrderId },
    'record the missing acknowledgement',
  );
  if (status === 'UNACKNOWLEDGED') await send(run, 'STATUS_REQUEST');
  show(run, status ?? run.status);
}

async function send(run: OrderRun, command: 'NEW_ORDER' | 'CANCEL' | 'STATUS_REQUEST'): Promise<void> {
  // The first attempt goes without a number, as every bridge knows it.
  const attempt = command === 'CANCEL' && run.cancelRejections > 0 ? run.cancelRejections + 1 : undefined;
  await localFirst(
    'sendToVenue',
    { command, ...run.input.command.request, ...(attempt === undefined ? {} : { attempt }) },
    `send ${command}`,
  );
}

/** The acknowledgement that may be overdue, and the end of a good-till-date order. Cancelled when the run ends. */
function startTimers(run: OrderRun): CancellationScope {
  const scope = new CancellationScope();
  const { venueAckTimeoutMs, command } = run.input;
  if (!run.acknowledged) {
    inBackground(scope, async () => {
      // An acknowledgement ends the wait; the timer stays in history only when it was needed.
      if (!(await condition(() => run.acknowledged, venueAckTimeoutMs))) run.acknowledgementOverdue = true;
    });
  }
  const { expireAt } = command.request;
  if (expireAt !== undefined && run.cancel === 'none') {
    inBackground(scope, async () => {
      await sleep(Math.max(Date.parse(expireAt) - Date.now(), 1));
      if (run.cancel === 'none') run.cancel = 'requested';
    });
  }
  return scope;
}

function inBackground(scope: CancellationScope, work: () => Promise<void>): void {
  scope.run(work).catch((error: unknown) => {
    if (!isCancellation(error)) throw error;
  });
}

/** What operators see: the status as a search attribute, and one line of details. */
function show(run: OrderRun, status: OrderStatus): void {
  if (status !== run.status) {
    upsertSearchAttributes([{ key: orderStatusAttribute, value: status }]);
  }
  run.status = status;
  const { request } = run.input.command;
  setCurrentDetails(
    `${orderSummary(request)}: **${status}**${refusalText(run)}, filled ${run.cumulativeQuantity} of ${request.quantity}`,
  );
}

function refusalText({ opened }: OrderRun): string {
  if (opened?.code === undefined) return '';
  return opened.reason === undefined ? ` (${opened.code})` : ` (${opened.code}: ${opened.reason})`;
}

async function handOver(run: OrderRun): Promise<never> {
  if (run.opened === undefined) throw new Error('a run that has not opened its order cannot hand it over');
  return continueAsNew<typeof orderWorkflow>({
    ...run.input,
    carried: {
      opened: run.opened,
      status: run.status,
      cumulativeQuantity: run.cumulativeQuantity,
      acknowledged: run.acknowledged,
      cancel: run.cancel,
      ...(run.cancelRejections === 0 ? {} : { cancelRejections: run.cancelRejections }),
      undrained: run.queue,
    },
  });
}
