import { openOrder, recordRefusal } from '../../src/db/open-order';
import { findSubmission } from '../../src/db/orders';
import { requestHash } from '../../src/domain/request-hash';
import { anOpenOrder } from '../support/orders';
import { accountRows } from '../support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const STALE = { code: 'STALE_QUOTE', detail: 'stale quote: 1240 ms' } as const;

describe('opening an order', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => {
    await database.drop();
  });

  test('stores the key, the order, the answer and the first event together', async () => {
    const command = anOpenOrder();
    const { answer, result, stored } = await openOrder(database.pool, command, {});
    expect(stored).toBe(true);
    expect(result).toEqual({ outcome: 'opened', status: 'PENDING_NEW', parkedExecutions: false });
    expect((await findSubmission(database.pool, command.request)).answer).toEqual(answer);
    const rows = await accountRows(database.pool, command.request.accountId);
    expect(rows).toMatchObject({
      orders: [{ status: 'PENDING_NEW', quantity: '10' }],
      keys: [{ status_code: 201 }],
      events: [{ sequence: 1, type: 'OPENED' }],
    });
  });

  test('twenty times at once stores it once, and all return the one answer', async () => {
    const command = anOpenOrder();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        openOrder(database.pool, { ...command, requestId: `request-${index}` }, {}),
      ),
    );
    expect(outcomes.filter(({ stored }) => stored)).toHaveLength(1);
    expect(new Set(outcomes.map(({ answer }) => answer?.body)).size).toBe(1);
    expect(new Set(outcomes.map(({ answer }) => answer?.requestId)).size).toBe(1);
  });

  // https://github.com/idempot-dev/idempot-js/pull/186
  test('that waits behind another transaction of its key replays that answer when it commits', async () => {
    const command = anOpenOrder();
    let second: ReturnType<typeof openOrder> | undefined;
    const first = await openOrder(
      database.pool,
      command,
      {},
      {
        beforeCommit: () => {
          second = openOrder(database.pool, { ...command, requestId: 'second' }, {});
        },
      },
    );
    const behind = await second;
    expect(behind?.stored).toBe(false);
    expect(behind?.answer).toEqual(first.answer);
  });

  test('that waits behind another transaction of its key becomes the first when that aborts', async () => {
    const command = anOpenOrder();
    let second: ReturnType<typeof openOrder> | undefined;
    const first = openOrder(
      database.pool,
      command,
      {},
      {
        beforeCommit: () => {
          second = openOrder(database.pool, { ...command, requestId: 'second' }, {});
          throw new Error('aborted by the test');
        },
      },
    );
    await expect(first).rejects.toThrow('aborted by the test');
    expect(await second).toMatchObject({ stored: true, answer: { requestId: 'second' } });
  });

  test('under a key that holds another request changes nothing and says so', async () => {
    const command = anOpenOrder();
    const first = await openOrder(database.pool, command, {});
    const request = { ...command.request, quantity: '11' };
    const before = await accountRows(database.pool, request.accountId);
    const other = await openOrder(
      database.pool,
      { ...command, request, requestHash: requestHash(request) },
      {},
    );
    expect(other).toMatchObject({ stored: false, result: { outcome: 'superseded' }, answer: first.answer });
    expect(await accountRows(database.pool, request.accountId)).toEqual(before);
  });

  test('that is refused stores the refusal as the answer of its key', async () => {
    const command = anOpenOrder();
    const { answer, result } = await openOrder(database.pool, command, { refusal: STALE });
    expect(result).toMatchObject({ outcome: 'refused', status: 'REFUSED', code: 'STALE_QUOTE' });
    expect(answer?.statusCode).toBe(409);
    // The gate has opened in the meantime; the answer of the key stays.
    const again = await openOrder(database.pool, command, {});
    expect(again).toMatchObject({ stored: false, answer, result: { outcome: 'refused' } });
  });

  test('after its time is over is refused as EXPIRED, whatever was decided', async () => {
    const past = new Date(Date.now() - 1).toISOString();
    const { result, answer } = await openOrder(database.pool, anOpenOrder({}, past), {});
    expect(result).toMatchObject({ outcome: 'refused', code: 'EXPIRED' });
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ code: 'EXPIRED', acceptBy: past });
  });

  test('whose key row is purged is still known by its order', async () => {
    const command = anOpenOrder();
    await openOrder(database.pool, command, {});
    await database.pool.query('delete from idempotency_keys where account_id = $1', [
      command.request.accountId,
    ]);
    const again = await openOrder(database.pool, command, {});
    expect(again).toEqual({
      stored: false,
      result: { outcome: 'opened', status: 'PENDING_NEW', parkedExecutions: false },
    });
    expect(await accountRows(database.pool, command.request.accountId)).toMatchObject({
      keys: [],
      orders: [{}],
    });
  });

  test('that somebody opened in the meantime is not abandoned', async () => {
    const command = anOpenOrder();
    const { answer } = await openOrder(database.pool, command, {});
    const recorded = await recordRefusal(
      database.pool,
      { ...command, requestId: 'late' },
      { code: 'ABANDONED', detail: '' },
    );
    expect(recorded).toEqual(answer);
  });
});
