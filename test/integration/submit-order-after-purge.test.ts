import { openOrder } from '../../src/db/open-order';
import type { Pool, Queryable, Statement } from '../../src/db/pool';
import type { OrderRequest } from '../../src/domain/order';
import { submitOrder, type SubmitOutcome } from '../../src/http/submit-order';
import { age, DAY_MS } from '../support/dedup-rows';
import { FakeOrderGateway } from '../support/fake-order-gateway';
import { anOpenOrder } from '../support/orders';
import { purge } from '../support/purging';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

describe('an order that is sent again', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => {
    await database.drop();
  });

  const submit = (
    request: OrderRequest,
    gateway = new FakeOrderGateway(database.pool),
    pool: Pool = database.pool,
  ): Promise<SubmitOutcome> =>
    submitOrder(
      { pool, gateway, acceptWindowMs: 10_000, answerDeadlineMs: 1_000 },
      request,
      () => new Promise(() => undefined),
    );
  /** Opened, ended and so long ago that its key is purged. */
  const aPurgedOrder = async (stale = false): Promise<OrderRequest> => {
    const { request } = anOpenOrder();
    const gateway = new FakeOrderGateway(database.pool);
    if (stale)
      gateway.onStart = (command) => gateway.openHere(command, { code: 'STALE_QUOTE', detail: 'a test' });
    await submit(request, gateway);
    const status = stale ? {} : { status: 'CANCELLED' as const };
    await age(database.pool, request, { ...status, openedMsAgo: 40 * DAY_MS, changedMsAgo: 31 * DAY_MS });
    await purge(database.pool);
    const { rowCount } = await database.pool.query(
      'select from idempotency_keys where client_order_id = $1::text',
      [request.clientOrderId],
    );
    expect(rowCount).toBe(0);
    return request;
  };

  test('forty days after it was opened, while it lives, gets the first answer byte for byte', async () => {
    const { request } = anOpenOrder({ timeInForce: 'gtc' });
    const first = await submit(request);
    const forty = 40 * DAY_MS;
    await age(database.pool, request, { status: 'NEW', openedMsAgo: forty, changedMsAgo: forty });
    await purge(database.pool);
    const gateway = new FakeOrderGateway(database.pool);
    expect(await submit(request, gateway)).toEqual({ ...first, replayed: true });
    expect(gateway.starts).toEqual([]);
  });

  test('after its key was purged gets the order as it stands, marked as replayed', async () => {
    const request = await aPurgedOrder();
    const gateway = new FakeOrderGateway(database.pool);
    const again = await submit(request, gateway);
    expect(again).toMatchObject({ kind: 'answered', statusCode: 201, replayed: true });
    expect(again.kind === 'answered' && JSON.parse(again.body)).toMatchObject({ status: 'CANCELLED' });
    expect(gateway.starts).toEqual([]);
  });

  test('after its key was purged stays refused', async () => {
    const again = await submit(await aPurgedOrder(true));
    expect(again).toMatchObject({ kind: 'answered', statusCode: 409, replayed: true });
    expect(again.kind === 'answered' && JSON.parse(again.body)).toMatchObject({ code: 'STALE_QUOTE' });
  });

  test('after its key was purged, with another body, is refused and told the difference', async () => {
    const request = await aPurgedOrder();
    expect(await submit({ ...request, quantity: '11' })).toEqual({ kind: 'reused', fields: ['quantity'] });
  });

  test('after its key was purged, is answered by whoever sees only that its run is closed', async () => {
    const { request } = anOpenOrder();
    const gateway = new FakeOrderGateway(database.pool);
    // The look came too early to see the order; the run says that there is one.
    gateway.onStart = async (command) => {
      await openOrder(database.pool, command, {});
      await age(database.pool, request, {
        status: 'FILLED',
        openedMsAgo: 40 * DAY_MS,
        changedMsAgo: 31 * DAY_MS,
      });
      await purge(database.pool);
      return 'closed';
    };
    expect(await submit(request, gateway)).toMatchObject({
      kind: 'answered',
      statusCode: 201,
      replayed: true,
    });
  });

  test('while it waits for an answer whose key is purged meanwhile, does not wait for the deadline', async () => {
    const { request } = anOpenOrder();
    const gateway = new FakeOrderGateway(database.pool);
    gateway.onStart = async (command) => {
      await openOrder(database.pool, command, {});
      await database.pool.query('delete from idempotency_keys where client_order_id = $1::text', [
        request.clientOrderId,
      ]);
      return 'elsewhere';
    };
    expect(await submit(request, gateway)).toMatchObject({
      kind: 'answered',
      statusCode: 201,
      replayed: true,
    });
  });

  test('in the moment in which it is opened gets the first answer, and not the order as it stands', async () => {
    const command = anOpenOrder();
    let first: unknown;
    const { pool } = database;
    // Between the look at the key and the look at the order, somebody else opens it, and the venue takes it.
    const query = async (statement: Statement): Promise<unknown> => {
      const result: unknown = await (pool as Queryable).query(statement);
      if (statement.name === 'find-submission' && first === undefined) {
        first = (await openOrder(pool, command, {})).answer;
        await pool.query("update orders set status = 'NEW' where client_order_id = $1::text", [
          command.request.clientOrderId,
        ]);
      }
      return result;
    };
    const interrupted = Object.assign(Object.create(pool) as Pool, { query });
    const again = await submit(command.request, undefined, interrupted);
    expect(first).toMatchObject({ statusCode: 201 });
    expect(again).toMatchObject({ kind: 'answered', body: (first as { body: string }).body, replayed: true });
  });
});
