import type { GateCode, GateVerdict } from '../../src/contracts/quote-gate';
import { orderWorkflowId } from '../../src/domain/ids';
import type { ServiceProcess } from '../support/service-process';
import {
  aBody,
  startSystem,
  SYMBOL,
  type ApiAnswer,
  type ApiClient,
  type TestSystem,
} from '../support/system';
import { temporalClient, type OperatorClient } from '../support/temporal-client';
import { waitFor } from '../support/wait-for';
import { orderStatusAttribute } from '../../workflows/messages';

describe('an order that the quote gate refuses', () => {
  let system: TestSystem;
  let client: ApiClient;
  let operator: OperatorClient;
  let gate: ServiceProcess;
  beforeAll(async () => {
    operator = await temporalClient();
    system = await startSystem({
      services: ['order-api'],
      // Suspicion and staleness are told apart by more time than a busy machine takes.
      env: { QUOTE_FEED_KIND: 'delta', QUOTE_MAX_SOURCE_AGE_MS: '6000', API_ANSWER_DEADLINE_MS: '2000' },
    });
    client = await system.client();
  });
  afterAll(async () => {
    await system.stop();
    await operator.close();
  });
  beforeEach(async () => {
    system.feed.setMode('ticks');
    system.feed.delaySource(0);
    gate = await system.start('quote-health');
    system.feed.snapshot();
    await verdictIs('OPEN');
  });
  afterEach(async () => {
    await gate.stop();
  });

  const verdictIs = (code: GateCode | 'OPEN') =>
    waitFor(`the gate to say ${code}`, async () => {
      const response = await fetch(`${system.env['QUOTE_GATE_URL']}/v1/symbols?filter=${SYMBOL}`);
      const { symbols } = (await response.json()) as { symbols: GateVerdict[] };
      return symbols.some((verdict) => (verdict.code ?? 'OPEN') === code);
    });

  /** The refusal must be told alike, with its evidence, to the client, to the books and to the operators. */
  const expectRefusal = async (answer: ApiAnswer, body: { clientOrderId: string }, code: GateCode) => {
    expect(answer.status).toBe(409);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    const quote = answer.json['quote'] as GateVerdict;
    expect(answer.json).toMatchObject({ code, detail: quote.reason, clientOrderId: body.clientOrderId });
    expect(quote).toMatchObject({ code, verdict: 'closed' });
    expect(Object.keys(quote)).toEqual(
      expect.arrayContaining([
        'silenceMs',
        'sourceAgeMs',
        'clockOffsetMs',
        'suspect',
        'suspectSince',
        'lost',
      ]),
    );

    const { rows } = await system.database.pool.query(
      `select o.status as "status", o.refusal_code as "code", o.quote_evidence as "evidence", e.detail as "event"
       from orders o join order_events e using (account_id, client_order_id)
       where o.account_id = $1 and o.client_order_id = $2`,
      [client.accountId, body.clientOrderId],
    );
    const event = { code, detail: quote.reason };
    expect(rows).toEqual([{ status: 'REFUSED', code, evidence: quote, event }]);
    const path = `/v1/orders/${body.clientOrderId}`;
    expect((await client.request('GET', path)).json).toMatchObject({ status: 'REFUSED', refusalCode: code });

    const run = operator.client.workflow.getHandle(orderWorkflowId({ accountId: client.accountId, ...body }));
    expect(await run.result()).toMatchObject({ outcome: 'refused', code, reason: quote.reason });
    const { currentDetails } = await run.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(currentDetails).toContain(`**REFUSED** (${code}: ${quote.reason})`);
    await waitFor('the status to be found by operators', async () => {
      const { typedSearchAttributes } = await run.describe();
      return typedSearchAttributes.get(orderStatusAttribute) === 'REFUSED';
    });

    expect(await client.submit(body)).toMatchObject({ status: 409, body: answer.body, replayed: true });
    expect(system.venue.commands(body.clientOrderId)).toEqual([]);
    return quote;
  };

  const expectOpens = async () => {
    await verdictIs('OPEN');
    const body = aBody();
    expect((await client.submit(body)).status).toBe(201);
    await system.venue.awaitCommand(body.clientOrderId, 'NEW_ORDER');
    const { rows } = await system.database.pool.query(
      'select quote_evidence as "evidence" from orders where client_order_id = $1',
      [body.clientOrderId],
    );
    expect(rows).toMatchObject([{ evidence: { verdict: 'open', symbol: SYMBOL, suspect: false } }]);
  };

  test('because its symbol was never quoted: NO_QUOTE', async () => {
    const body = aBody({ symbol: 'XAUUSD' });
    const quote = await expectRefusal(await client.submit(body), body, 'NO_QUOTE');
    expect(quote).toMatchObject({ symbol: 'XAUUSD', bid: null, lastSequence: null });
    await expectOpens();
  });

  test('because the feed has stopped: STALE_QUOTE, and opens when it speaks again', async () => {
    system.feed.silence();
    await verdictIs('STALE_QUOTE');
    const body = aBody();
    const quote = await expectRefusal(await client.submit(body), body, 'STALE_QUOTE');
    expect(quote.silenceMs).toBeGreaterThan(1_000);
    system.feed.resume();
    await expectOpens();
  });

  test('because its price is old although the feed lives: STALE_AT_SOURCE, and opens with a new one', async () => {
    system.feed.delaySource(20_000);
    await verdictIs('STALE_AT_SOURCE');
    const body = aBody();
    const quote = await expectRefusal(await client.submit(body), body, 'STALE_AT_SOURCE');
    expect(quote.silenceMs).toBeLessThanOrEqual(1_000);
    expect(quote.sourceAgeMs).toBeGreaterThan(6_000);
    system.feed.delaySource(0);
    await expectOpens();
  });

  test('because a change was lost: SUSPECT_QUOTE with its count, and opens with the next snapshot', async () => {
    system.feed.skip(3);
    await verdictIs('SUSPECT_QUOTE');
    const body = aBody();
    const quote = await expectRefusal(await client.submit(body), body, 'SUSPECT_QUOTE');
    expect(quote).toMatchObject({ suspect: true, lost: '3' });
    expect(Date.parse(quote.suspectSince ?? '')).toBeLessThanOrEqual(Date.parse(quote.decidedAt));
    system.feed.snapshot();
    await expectOpens();
  });

  test('because a session began and has not stated its price: SUSPECT_QUOTE', async () => {
    system.feed.setMode('heartbeats');
    system.feed.newSession();
    await verdictIs('SUSPECT_QUOTE');
    const body = aBody();
    const quote = await expectRefusal(await client.submit(body), body, 'SUSPECT_QUOTE');
    expect(quote).toMatchObject({ suspect: true, lost: '0' });
    system.feed.setMode('ticks');
    await expectOpens();
  });

  test('because the clock of the feed cannot be believed: CLOCK_OFFSET', async () => {
    await gate.stop();
    system.feed.delaySource(3_000);
    gate = await system.start('quote-health');
    system.feed.snapshot();
    await verdictIs('CLOCK_OFFSET');
    const body = aBody();
    const quote = await expectRefusal(await client.submit(body), body, 'CLOCK_OFFSET');
    expect(quote.clockOffsetMs).toBeGreaterThan(500);
    // An offset is measured anew by the next process: the clock has been set right meanwhile.
    await gate.stop();
    system.feed.delaySource(0);
    gate = await system.start('quote-health');
    system.feed.snapshot();
    await expectOpens();
  });

  test('is not refused by a gate that is down: it waits, and opens when the gate is back', async () => {
    await gate.stop();
    const body = aBody();
    const pending = await client.submit(body);
    expect(pending.status).toBe(202);
    // With full quotes there is no moment in which a gate that listens has no price.
    gate = await system.start('quote-health', { QUOTE_FEED_KIND: 'full' });
    const answer = await waitFor('an answer', async () => {
      const given = await client.submit(body);
      return given.status !== 202 && given;
    });
    expect(answer.status).toBe(201);
    await system.venue.awaitCommand(body.clientOrderId, 'NEW_ORDER');
  });

  test('leaves one line with its evidence in the log of the gate, and a count of its code', async () => {
    const body = aBody({ symbol: 'NOBODY' });
    await client.submit(body);
    const line = await waitFor('the line', () =>
      gate
        .log()
        .split('\n')
        .find((each) => each.includes('the gate is closed') && each.includes('NOBODY')),
    );
    expect(JSON.parse(line)).toMatchObject({
      service: 'quote-health',
      quote: { symbol: 'NOBODY', code: 'NO_QUOTE', verdict: 'closed' },
    });
    expect(await gate.metric('tekil_gate_verdicts_total', { code: 'NO_QUOTE' })).toBe(1);
  });
});
