import { applyExecutions } from '../../src/db/apply-executions';
import { openOrder } from '../../src/db/open-order';
import { decide, type DecisionCommand } from '../../src/db/operator-decisions';
import { insertQuarantined } from '../../src/db/quarantine';
import { findSetAside, listSetAside } from '../../src/db/set-aside-events';
import { findSettled } from '../../src/db/settled-events';
import type { Execution } from '../../src/domain/execution';
import { executionContentHash } from '../../src/domain/execution-hash';
import type { SetAsideBody } from '../../src/contracts/operator-api';
import type { OpenOrderCommand } from '../../src/contracts/order-messages';
import { readPayload } from '../../src/kafka/parse-execution';
import { anExecutionOf, anOpenOrder } from '../support/orders';
import { accountRows } from '../support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(async () => {
  await database.drop();
});

const keyOf = ({ request: { accountId, clientOrderId } }: OpenOrderCommand) => ({ accountId, clientOrderId });

async function anOpenedOrder(): Promise<OpenOrderCommand> {
  const command = anOpenOrder();
  await openOrder(database.pool, command, {});
  return command;
}

const apply = (order: OpenOrderCommand, ...executions: Execution[]) =>
  applyExecutions(database.pool, { ...keyOf(order), executions });

const open = (order: OpenOrderCommand, change: { readonly decided?: boolean } = {}) =>
  listSetAside(database.pool, { accountId: order.request.accountId, decided: false, limit: 100, ...change });

async function onlyOne(order: OpenOrderCommand): Promise<SetAsideBody> {
  const [event, ...more] = await open(order);
  if (event === undefined || more.length > 0) throw new Error('exactly one event should wait');
  return event;
}

const decideOn = (event: SetAsideBody, command: Partial<DecisionCommand>) =>
  decide(
    database.pool,
    { eventId: event.id, decision: 'discard', reason: 'the venue says so', decidedBy: 'alice', ...command },
    readPayload,
  );

async function isSettled(execution: Execution): Promise<boolean> {
  const event = { execution, contentHash: executionContentHash(execution) };
  return (await findSettled(database.pool, [event])).has(event);
}

/** An execution id that came again with another price. */
async function aConflict(order: OpenOrderCommand): Promise<{ first: Execution; second: Execution }> {
  const first = anExecutionOf(order, 'FILL');
  const second = { ...first, price: '1.2' };
  await apply(order, first);
  await apply(order, second);
  return { first, second };
}

/** A message whose price is missing in `payload`, which the test may mend by giving it. */
async function aMalformed(order: OpenOrderCommand, payload: unknown): Promise<void> {
  await insertQuarantined(database.pool, [
    {
      reason: 'malformed',
      detail: 'the message key must be another',
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
      contentHash: executionContentHash(anExecutionOf(order, 'NEW')),
      fields: keyOf(order),
      origin: { topic: 'executions', partition: 1, offset: '9007199254740993' },
    },
  ]);
}

describe('listing what was set aside', () => {
  test('the newest come first, in pages, and each filter narrows', async () => {
    const order = await anOpenedOrder();
    await aConflict(order);
    await aMalformed(order, '{');
    await apply(order, anExecutionOf(order, 'FILL', { side: 'sell' }));
    const unknown = anOpenOrder({ accountId: order.request.accountId });
    await apply(unknown, anExecutionOf(unknown, 'FILL', { source: 'ELSEWHERE' }));
    const all = await open(order);
    expect(all.map(({ reason }) => reason)).toEqual(['parked', 'wrong_order', 'malformed', 'conflict']);
    const pages: SetAsideBody[] = [];
    for (let page = await open(order); page.length > 0;) {
      const [first] = page;
      if (first === undefined) break;
      pages.push(first);
      page = await listSetAside(database.pool, {
        accountId: order.request.accountId,
        decided: false,
        after: first,
        limit: 1,
      });
    }
    expect(pages).toEqual(all);
    const { accountId } = order.request;
    const filters = [
      { reason: 'parked' },
      { source: 'ELSEWHERE' },
      { clientOrderId: unknown.request.clientOrderId },
    ] as const;
    for (const filter of filters) {
      expect(
        await listSetAside(database.pool, { accountId, decided: false, limit: 9, ...filter }),
      ).toMatchObject([{ reason: 'parked', source: 'ELSEWHERE' }]);
    }
  });

  test('a conflict is shown with both contents', async () => {
    const order = await anOpenedOrder();
    const { first, second } = await aConflict(order);
    const event = await findSetAside(database.pool, (await onlyOne(order)).id);
    expect(readPayload(event?.payload ?? '')).toEqual(second);
    expect(event).toMatchObject({
      contentHash: executionContentHash(second),
      firstContentHash: `sha256:${executionContentHash(first)}`,
      firstContent: { ...keyOf(order), quantity: '1', price: '1.1', symbol: 'EURUSD', side: 'buy' },
      decision: null,
    });
  });

  test('of a conflict that moved nothing the first content is found in the timeline', async () => {
    const order = await anOpenedOrder();
    const first = anExecutionOf(order, 'NEW', { venueOrderId: 'V-1' });
    await apply(order, first);
    await apply(order, { ...first, venueOrderId: 'V-2' });
    expect(await findSetAside(database.pool, (await onlyOne(order)).id)).toMatchObject({
      firstContent: { executionId: first.executionId, venueOrderId: 'V-1' },
    });
  });

  test('a malformed event is shown with the place of its message', async () => {
    const order = anOpenOrder();
    await aMalformed(order, 'base64:AAAA');
    expect(await findSetAside(database.pool, (await onlyOne(order)).id)).toMatchObject({
      payload: 'base64:AAAA',
      message: { topic: 'executions', partition: 1, offset: '9007199254740993' },
      firstContent: null,
    });
  });

  test.each(['q0', 'q999999', 'p999999', 'x1', '1', "q1' or true", ''])(
    'there is no event %p',
    async (id) => {
      expect(await findSetAside(database.pool, id)).toBeUndefined();
    },
  );
});

describe('discarding', () => {
  test('the event leaves the list, stays recorded, and its order asks for attention no more', async () => {
    const order = await anOpenedOrder();
    const { second } = await aConflict(order);
    const event = await onlyOne(order);
    await decideOn(event, { reason: 'a typing error', decidedBy: 'bob' });
    expect(await open(order)).toEqual([]);
    expect(await open(order, { decided: true })).toMatchObject([
      {
        id: event.id,
        decision: { decision: 'discard', reason: 'a typing error', decidedBy: 'bob', outcome: 'discarded' },
      },
    ]);
    const rows = await accountRows(database.pool, order.request.accountId);
    expect(rows['orders']).toMatchObject([{ attention: null, cumulative_quantity: '1' }]);
    expect(rows['events']?.at(-1)).toMatchObject({ type: 'OPERATOR_DECISION' });
    expect(JSON.stringify(rows['events'])).not.toContain('bob');
    await apply(order, second);
    expect(await open(order)).toEqual([]);
    expect((await accountRows(database.pool, order.request.accountId))['orders']).toEqual(rows['orders']);
  });

  test('the order then asks for attention for the next event that waits', async () => {
    const order = await anOpenedOrder();
    await aConflict(order);
    const first = await onlyOne(order);
    await apply(order, anExecutionOf(order, 'FILL', { executionId: 'W-1', side: 'sell' }));
    await decideOn(first, {});
    expect((await accountRows(database.pool, order.request.accountId))['orders']).toMatchObject([
      { attention: 'FILL W-1 says sell, the order buy' },
    ]);
  });

  test('a parked execution that was discarded is not applied when its order appears, nor by a late copy', async () => {
    const order = anOpenOrder();
    const fill = anExecutionOf(order, 'FILL');
    await apply(order, fill);
    await decideOn(await onlyOne(order), {});
    await apply(order, fill);
    expect(await open(order)).toEqual([]);
    await openOrder(database.pool, order, {});
    await applyExecutions(database.pool, { ...keyOf(order), executions: [], includeParked: true });
    const { verdicts } = await apply(order, fill);
    expect(verdicts.map(({ verdict }) => verdict)).toEqual(['duplicate']);
    expect((await accountRows(database.pool, order.request.accountId))['fills']).toEqual([]);
    // The same id at another source, or with another content, is another matter: each is applied as the first.
    await apply(order, { ...fill, source: 'ELSEWHERE' });
    await apply(order, { ...fill, price: '2' });
    expect((await accountRows(database.pool, order.request.accountId))['fills']).toHaveLength(2);
  });

  test('discarding again changes nothing; another decision is refused and told what was decided', async () => {
    const order = await anOpenedOrder();
    await aConflict(order);
    const event = await onlyOne(order);
    const first = await decideOn(event, {});
    const before = await accountRows(database.pool, order.request.accountId);
    expect(await decideOn(event, { reason: 'again', decidedBy: 'bob' })).toEqual({
      ...first,
      repeated: true,
    });
    await expect(decideOn(event, { decision: 'replay' })).rejects.toThrow(
      new RegExp(`^${event.id} was decided before: discard, by alice at .* \\(the venue says so\\)$`),
    );
    expect(await accountRows(database.pool, order.request.accountId)).toEqual(before);
  });

  test('ten operators at once make one decision', async () => {
    const order = await anOpenedOrder();
    await aConflict(order);
    const event = await onlyOne(order);
    const names = Array.from({ length: 10 }, (_, n) => `operator-${n}`);
    const outcomes = await Promise.all(names.map((decidedBy) => decideOn(event, { decidedBy })));
    expect(outcomes.filter(({ repeated }) => !repeated)).toHaveLength(1);
    expect(new Set(outcomes.map(({ decision }) => decision.decidedBy)).size).toBe(1);
    const { events } = await accountRows(database.pool, order.request.accountId);
    expect(JSON.stringify(events).match(/OPERATOR_DECISION/g)).toHaveLength(1);
  });
});

describe('replaying', () => {
  test('a malformed event whose text can be read is applied once', async () => {
    const order = await anOpenedOrder();
    const fill = anExecutionOf(order, 'FILL');
    await aMalformed(order, fill);
    const event = await onlyOne(order);
    const first = await decideOn(event, { decision: 'replay' });
    expect(first).toMatchObject({
      repeated: false,
      forRun: { key: keyOf(order), executions: [fill] },
      decision: { outcome: 'applied' },
    });
    expect(await decideOn(event, { decision: 'replay' })).toEqual({ ...first, repeated: true });
    expect((await accountRows(database.pool, order.request.accountId))['fills']).toHaveLength(1);
    expect(await open(order)).toEqual([]);
    expect(await isSettled(fill)).toBe(true);
  });

  test.each([
    ['is no JSON', (text: string) => text.slice(1), /still cannot be read: the value is not JSON/],
    [
      'names a member twice',
      (text: string) => text.replace('{', '{"price":"9",'),
      /still cannot be read: a member is given/,
    ],
  ])('a malformed event that %s is refused and waits on', async (_, spoil, message) => {
    const order = await anOpenedOrder();
    await aMalformed(order, spoil(JSON.stringify(anExecutionOf(order, 'FILL'))));
    await expect(decideOn(await onlyOne(order), { decision: 'replay' })).rejects.toThrow(message);
    expect(await open(order)).toHaveLength(1);
  });

  test('a conflict and an event of the wrong order stay what they are: refused, and nothing is changed', async () => {
    const order = await anOpenedOrder();
    await aConflict(order);
    await apply(order, anExecutionOf(order, 'FILL', { side: 'sell' }));
    const before = [await accountRows(database.pool, order.request.accountId), await open(order)];
    const [wrong, conflict] = await open(order);
    await expect(decideOn(conflict!, { decision: 'replay' })).rejects.toThrow('processed with other content');
    await expect(decideOn(wrong!, { decision: 'replay' })).rejects.toThrow('contradicts order');
    expect([await accountRows(database.pool, order.request.accountId), await open(order)]).toEqual(before);
  });

  test('an event in quarantine cannot be adopted, a parked one cannot be replayed', async () => {
    const order = await anOpenedOrder();
    await aConflict(order);
    await expect(decideOn(await onlyOne(order), { decision: 'adopt' })).rejects.toThrow(
      /is in quarantine: decide replay or discard, not adopt/,
    );
    const unknown = anOpenOrder();
    await apply(unknown, anExecutionOf(unknown, 'FILL'));
    await expect(decideOn(await onlyOne(unknown), { decision: 'replay' })).rejects.toThrow(
      /is parked: decide adopt or discard, not replay/,
    );
  });
});

describe('adopting', () => {
  test('a parked execution is applied to the order that the operator names, once', async () => {
    const [order, unknown] = [await anOpenedOrder(), anOpenOrder()];
    const fill = anExecutionOf(unknown, 'FILL', { quantity: '3' });
    await apply(unknown, fill);
    const event = await onlyOne(unknown);
    const adopt = { decision: 'adopt', order: keyOf(order) } as const;
    const first = await decideOn(event, adopt);
    expect(first.decision).toMatchObject({ outcome: 'applied', ...keyOf(order) });
    expect(await decideOn(event, adopt)).toEqual({ ...first, repeated: true });
    const { fills, positions } = await accountRows(database.pool, order.request.accountId);
    expect([fills, positions]).toMatchObject([[{ quantity: '3' }], [{ quantity: '3' }]]);
    expect(await open(unknown)).toEqual([]);
    // The event as the topic holds it is known, though its order was another.
    expect(await isSettled(fill)).toBe(true);
    await expect(decideOn(event, { decision: 'adopt' })).rejects.toThrow(
      `was decided before: adopt to order ${order.request.clientOrderId}`,
    );
  });

  test('an order that does not exist is refused, and the execution stays parked', async () => {
    const unknown = anOpenOrder();
    await apply(unknown, anExecutionOf(unknown, 'FILL'));
    await expect(decideOn(await onlyOne(unknown), { decision: 'adopt' })).rejects.toThrow(
      `there is no order ${unknown.request.clientOrderId}`,
    );
    expect(await open(unknown)).toHaveLength(1);
  });

  test('an order that exists by now takes it without being named', async () => {
    const order = anOpenOrder();
    await apply(order, anExecutionOf(order, 'FILL'));
    const event = await onlyOne(order);
    await openOrder(database.pool, order, {});
    expect((await decideOn(event, { decision: 'adopt' })).decision.outcome).toBe('applied');
    await applyExecutions(database.pool, { ...keyOf(order), executions: [], includeParked: true });
    expect((await accountRows(database.pool, order.request.accountId))['fills']).toHaveLength(1);
  });

  test('an execution that its order took at the same moment is applied once', async () => {
    const order = anOpenOrder();
    await apply(order, anExecutionOf(order, 'FILL'));
    const event = await onlyOne(order);
    await openOrder(database.pool, order, {});
    await Promise.allSettled([
      applyExecutions(database.pool, { ...keyOf(order), executions: [], includeParked: true }),
      decideOn(event, { decision: 'adopt' }),
      decideOn(event, { decision: 'adopt' }),
    ]);
    expect((await accountRows(database.pool, order.request.accountId))['fills']).toHaveLength(1);
    expect(await open(order)).toEqual([]);
  });
});

describe('what needs nothing more', () => {
  test('processed, parked, in conflict or of the wrong order: each content is settled, another is not', async () => {
    const [order, unknown] = [await anOpenedOrder(), anOpenOrder()];
    const { first, second } = await aConflict(order);
    const wrong = anExecutionOf(order, 'FILL', { side: 'sell' });
    const parked = anExecutionOf(unknown, 'FILL');
    await apply(order, wrong);
    await apply(unknown, parked);
    const settled = [first, second, wrong, parked];
    const unsettled = settled.flatMap((execution) => [
      { ...execution, price: '7' },
      { ...execution, source: 'ELSEWHERE' },
      { ...execution, executionId: 'another' },
    ]);
    const events = [...unsettled, ...settled].map((execution) => ({
      execution,
      contentHash: executionContentHash(execution),
    }));
    const found = await findSettled(database.pool, events);
    expect(events.map((event) => found.has(event))).toEqual([
      ...unsettled.map(() => false),
      ...settled.map(() => true),
    ]);
    expect(await findSettled(database.pool, [])).toEqual(new Set());
  });
});
