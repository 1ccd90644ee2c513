import { randomUUID } from 'node:crypto';
import { insertQuarantined, type MalformedMessage, type RefusedExecution } from '../../src/db/quarantine';
import { findProcessed } from '../../src/db/processed-events';
import { executionIdentityText, type Execution } from '../../src/domain/execution';
import { executionContentHash } from '../../src/domain/execution-hash';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(async () => {
  await database.drop();
});

function anExecution(overrides: Partial<Execution> = {}): Execution {
  return {
    source: 'SIM',
    type: 'FILL',
    executionId: randomUUID(),
    accountId: 'acme',
    clientOrderId: 'order-1',
    symbol: 'EURUSD',
    side: 'buy',
    quantity: '1',
    price: '1.1',
    executedAt: '2026-03-14T09:26:53.589Z',
    ...overrides,
  };
}

function aConflict(overrides: Partial<Execution> = {}): RefusedExecution {
  return {
    reason: 'conflict',
    detail: 'came again',
    execution: anExecution(overrides),
    otherPayload: 'sha256:00',
  };
}

function aMalformed(overrides: Partial<MalformedMessage> = {}): MalformedMessage {
  return {
    reason: 'malformed',
    detail: 'not JSON',
    payload: '{',
    contentHash: randomUUID().replaceAll('-', '').repeat(2),
    fields: {},
    origin: { topic: 'executions', partition: 1, offset: '9007199254740993' },
    ...overrides,
  };
}

async function rowsOf(event: RefusedExecution | MalformedMessage): Promise<Record<string, unknown>[]> {
  const byHash = event.reason === 'malformed';
  const { rows } = await database.pool.query<Record<string, unknown>>(
    `select * from quarantined_events where ${byHash ? `encode(content_hash, 'hex')` : 'execution_id'} = $1
     order by id`,
    [byHash ? event.contentHash : event.execution.executionId],
  );
  return rows;
}

describe('the quarantine', () => {
  test('keeps a conflict with both contents', async () => {
    const conflict = aConflict();
    await insertQuarantined(database.pool, [conflict]);
    expect(await rowsOf(conflict)).toMatchObject([
      {
        reason: 'conflict',
        source: 'SIM',
        event_type: 'FILL',
        execution_id: conflict.execution.executionId,
        client_order_id: 'order-1',
        payload: JSON.stringify(conflict.execution),
        other_payload: 'sha256:00',
        topic: null,
        times_seen: 1,
      },
    ]);
  });

  test('counts the same conflict met again, within one batch and later', async () => {
    const conflict = aConflict();
    await insertQuarantined(database.pool, [conflict, conflict]);
    await insertQuarantined(database.pool, [conflict]);
    expect(await rowsOf(conflict)).toMatchObject([{ times_seen: 3 }]);
  });

  test('keeps one id under two contents as two findings', async () => {
    const first = aConflict();
    const second = { ...first, execution: { ...first.execution, price: '2' } };
    await insertQuarantined(database.pool, [first, second]);
    expect((await rowsOf(first)).map((row) => row['payload'])).toEqual(
      [first, second].map(({ execution }) => JSON.stringify(execution)),
    );
  });

  test('counts a malformed message once, however often that message is read', async () => {
    const message = aMalformed();
    const later = { ...message, origin: { ...message.origin, offset: '9007199254740994' } };
    await insertQuarantined(database.pool, [message]);
    await insertQuarantined(database.pool, [message]);
    expect(await rowsOf(message)).toMatchObject([{ times_seen: 1, topic_offset: '9007199254740993' }]);
    await insertQuarantined(database.pool, [later]);
    await insertQuarantined(database.pool, [message, later]);
    expect(await rowsOf(message)).toMatchObject([{ times_seen: 2, topic_offset: '9007199254740994' }]);
  });

  test('holds what describes an event that PostgreSQL itself could not hold', async () => {
    const message = aMalformed({
      detail: 'field a\0b \ud800',
      fields: { source: '\0', type: '\udfff', executionId: '' },
    });
    await insertQuarantined(database.pool, [message, { ...message, fields: { executionId: '\0' } }]);
    const { rows } = await database.pool.query(
      `select detail, source, event_type from quarantined_events where encode(content_hash, 'hex') = $1 order by id`,
      [message.contentHash],
    );
    expect(rows).toEqual([
      { detail: 'field a\ufffdb \ufffd', source: '\ufffd', event_type: '\ufffd' },
      { detail: 'field a\ufffdb \ufffd', source: null, event_type: null },
    ]);
  });

  test('takes absent and empty fields of one content as one finding', async () => {
    const message = aMalformed();
    await insertQuarantined(database.pool, [
      message,
      { ...message, fields: { source: '' }, origin: { ...message.origin, offset: '9007199254740999' } },
    ]);
    expect(await rowsOf(message)).toMatchObject([{ times_seen: 2 }]);
  });

  test('takes nothing as nothing', async () => {
    expect(await insertQuarantined(database.pool, [])).toEqual(new Set());
  });

  test('tells what was not there before from what was', async () => {
    const [first, second] = [aConflict(), aConflict()];
    expect(await insertQuarantined(database.pool, [first])).toEqual(new Set([first]));
    expect(await insertQuarantined(database.pool, [first, second])).toEqual(new Set([second]));
  });
});

describe('looking up what was processed', () => {
  test('gives the hash of each known identity and nothing for the others', async () => {
    const [known, unknown] = [anExecution(), anExecution()];
    const other = { ...known, type: 'NEW' as const };
    await database.pool.query(
      `insert into processed_events (source, event_type, event_id, content_hash, event_time)
       values ('SIM', 'FILL', $1, decode($2, 'hex'), now())`,
      [known.executionId, executionContentHash(known)],
    );
    const found = await findProcessed(database.pool, [known, unknown, other, known]);
    expect([...found]).toEqual([[executionIdentityText(known), executionContentHash(known)]]);
  });

  test('asks nothing about nothing', async () => {
    expect((await findProcessed(database.pool, [])).size).toBe(0);
  });
});
