import { findKnownOrder, openOrder } from '../../src/db/open-order';
import type { OrderStatus } from '../../src/domain/order-status';
import { age, aPlan, DAY_MS, WINDOW_MS } from '../support/dedup-rows';
import { anOpenOrder } from '../support/orders';
import { purge as runPurge, type PurgeOptions } from '../support/purging';
import { accountRows } from '../support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

describe('the purge of keys', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await database.drop();
  });

  const purge = (options: PurgeOptions = {}) => runPurge(database.pool, options);
  const anOrder = async (status: OrderStatus, openedDaysAgo: number, changedDaysAgo: number) => {
    const command = anOpenOrder();
    await openOrder(
      database.pool,
      command,
      status === 'REFUSED' ? { refusal: { code: 'STALE_QUOTE', detail: 'a test' } } : {},
    );
    const ages = { openedMsAgo: openedDaysAgo * DAY_MS, changedMsAgo: changedDaysAgo * DAY_MS };
    await age(database.pool, command.request, status === 'REFUSED' ? ages : { status, ...ages });
    return command;
  };
  const keptKeys = async (): Promise<string[]> => {
    const { rows } = await database.pool.query<{ id: string }>(
      'select client_order_id as id from idempotency_keys order by created_at',
    );
    return rows.map(({ id }) => id);
  };

  test.each(['FILLED', 'CANCELLED', 'REJECTED', 'EXPIRED', 'REFUSED'] as const)(
    'takes that of an order which has been %s for longer than the window, and no sooner',
    async (status) => {
      const command = await anOrder(status, 31, 31);
      const kept = await anOrder(status, 31, 29);
      expect((await purge()).idempotency_keys).toMatchObject({ rows: 1, done: true });
      expect(await keptKeys()).toEqual([kept.request.clientOrderId]);
      const { rowCount } = await database.pool.query('select from orders');
      expect(rowCount).toBe(2);
      const { outcome } = await findKnownOrder(database.pool, command);
      expect(outcome).toMatchObject({ result: { outcome: status === 'REFUSED' ? 'refused' : 'opened' } });
    },
  );

  test.each(['PENDING_NEW', 'NEW', 'UNACKNOWLEDGED', 'PARTIALLY_FILLED'] as const)(
    'keeps that of an order which is %s, of forty days or four hundred',
    async (status) => {
      const orders = [await anOrder(status, 400, 400), await anOrder(status, 40, 40)];
      expect((await purge()).idempotency_keys).toMatchObject({ rows: 0, done: true });
      expect(await keptKeys()).toEqual(orders.map(({ request }) => request.clientOrderId));
    },
  );

  test('passes over those of live orders, however many are in front and of one moment', async () => {
    const live = await Promise.all(Array.from({ length: 25 }, () => anOrder('NEW', 40, 40)));
    await database.pool.query("update idempotency_keys set created_at = now() - interval '40 days'");
    await Promise.all(Array.from({ length: 25 }, () => anOrder('FILLED', 35, 35)));
    const plan = aPlan({ pace: { maxRows: 10, minRows: 10, slowMs: 5_000 } });
    expect((await purge({ plan })).idempotency_keys).toMatchObject({ rows: 25, done: true });
    expect((await keptKeys()).toSorted()).toEqual(
      live.map(({ request }) => request.clientOrderId).toSorted(),
    );
  });

  test('has a window of its own', async () => {
    await anOrder('FILLED', 20, 20);
    const plan = aPlan({ windowMs: { processed_events: WINDOW_MS, idempotency_keys: 10 * DAY_MS } });
    expect((await purge({ plan })).idempotency_keys).toMatchObject({ rows: 1 });
    expect(await keptKeys()).toEqual([]);
  });

  test('leaves an order that, opened again, changes nothing', async () => {
    const command = await anOrder('FILLED', 31, 31);
    await purge();
    const before = await accountRows(database.pool, command.request.accountId);
    const again = await openOrder(database.pool, command, {});
    expect(again).toMatchObject({ stored: false, result: { outcome: 'opened', status: 'FILLED' } });
    const other = { ...command, requestHash: '0'.repeat(64) };
    expect(await openOrder(database.pool, other, {})).toMatchObject({ result: { outcome: 'superseded' } });
    expect(await accountRows(database.pool, command.request.accountId)).toEqual(before);
  });
});
