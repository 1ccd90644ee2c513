import type { GateVerdict } from '../../src/contracts/quote-gate';
import { freePort } from '../../src/dev/ports';
import { createGateClient, type GateClient } from '../../src/quotes/gate-client';
import { SimulatedFeed } from '../../src/quotes/simulated-feed';
import type { ServiceProcess } from '../support/service-process';
import { aBody, startSystem, SYMBOL, type ApiClient, type TestSystem } from '../support/system';
import { startUdpRelay, type UdpRelay } from '../support/udp-relay';
import { waitFor } from '../support/wait-for';

const HOST = '127.0.0.1';
const TIMEOUT_MS = 2_000;
/** What a busy machine adds to a deadline; less than half of it, which would be another mistake. */
const SLACK_MS = 750;

describe('two instances of quote-health on the same feed', () => {
  let system: TestSystem;
  let client: ApiClient;
  let relay: UdpRelay;
  let feed: SimulatedFeed;
  let ports: { readonly gate: number; readonly feed: number }[];
  let instances: ServiceProcess[];
  let gates: string[];
  beforeAll(async () => {
    ports = await Promise.all(
      [0, 1].map(async () => ({ gate: await freePort(), feed: await freePort('udp') })),
    );
    gates = ports.map(({ gate }) => `http://${HOST}:${gate}`);
    relay = await startUdpRelay(ports.map(({ feed: port }) => port));
    feed = new SimulatedFeed({
      host: HOST,
      port: relay.port,
      symbols: { [SYMBOL]: 1.08 },
      tickIntervalMs: 20,
    });
    feed.start();
    system = await startSystem({
      services: ['order-api'],
      env: { QUOTE_GATE_URL: gates.join(','), QUOTE_FEED_KIND: 'delta', API_ANSWER_DEADLINE_MS: '2000' },
    });
    client = await system.client();
  });
  afterAll(async () => {
    await feed.close();
    await relay.close();
    await system.stop();
  });
  beforeEach(async () => {
    instances = await Promise.all([0, 1].map((index) => startInstance(index)));
    feed.snapshot();
    await Promise.all([0, 1].map((index) => instanceIs(index, 'open')));
  });
  afterEach(async () => {
    relay.cut(0, false);
    relay.cut(1, false);
    // A frozen one is thawed, so that it can end.
    for (const instance of instances) instance.thaw();
    await Promise.all(instances.map((instance) => instance.stop()));
  });

  const startInstance = (index: number): Promise<ServiceProcess> =>
    system.start('quote-health', {
      GATE_PORT: String(ports[index]!.gate),
      QUOTE_FEED_PORT: String(ports[index]!.feed),
    });
  const look = async (index: number): Promise<GateVerdict> => {
    const response = await fetch(`${gates[index]}/v1/gate?symbol=${SYMBOL}`);
    return ((await response.json()) as { verdicts: [GateVerdict] }).verdicts[0];
  };
  const instanceIs = (index: number, expected: 'open' | 'closed') =>
    waitFor(`instance ${index} to be ${expected}`, async () => (await look(index)).verdict === expected);
  const aClient = (): GateClient => createGateClient({ url: gates.join(','), timeoutMs: TIMEOUT_MS });
  const timed = async (gate: GateClient) => {
    const startedAt = performance.now();
    const outcome = await gate.askGate(SYMBOL).catch((error: unknown) => (error as Error).message);
    return { outcome, tookMs: performance.now() - startedAt };
  };
  const opens = async (): Promise<void> => {
    const body = aBody();
    expect((await client.submit(body)).status).toBe(201);
    await system.venue.awaitCommand(body.clientOrderId, 'NEW_ORDER');
  };

  test('say the same of the same message', async () => {
    const seen = [new Map<string, string>(), new Map<string, string>()];
    await waitFor('fifty messages that both were asked about', async () => {
      const verdicts = await Promise.all([look(0), look(1)]);
      for (const [index, { lastSequence, bid, ask, verdict }] of verdicts.entries()) {
        seen[index]!.set(String(lastSequence), `${verdict} ${bid} ${ask}`);
      }
      return [...seen[0]!.keys()].filter((sequence) => seen[1]!.has(sequence)).length >= 50;
    });
    for (const [sequence, said] of seen[0]!) {
      if (seen[1]!.has(sequence)) expect(seen[1]!.get(sequence)).toBe(said);
    }
  });

  test('differ only in that one which missed something is closed', async () => {
    relay.cut(1, true);
    const { lastSequence } = await look(1);
    await waitFor('messages to be missed', async () => {
      const now = BigInt((await look(0)).lastSequence ?? 0);
      return now > BigInt(lastSequence ?? 0) + 3n;
    });
    relay.cut(1, false);
    await waitFor('the loss to be noticed', async () => (await look(1)).code === 'SUSPECT_QUOTE');
    for (let time = 0; time < 20; time += 1) {
      expect(await look(1)).toMatchObject({ verdict: 'closed', suspect: true });
      expect(await look(0)).toMatchObject({ verdict: 'open', suspect: false, lost: '0' });
    }
    // The first lives and says "open": what the second thinks is not asked, and nothing is put together.
    expect((await timed(aClient())).outcome).toMatchObject({ verdict: 'open' });
    feed.snapshot();
    await instanceIs(1, 'open');
  });

  test('with one that is closed and asked first: closed it is, whatever the other would say', async () => {
    relay.cut(0, true);
    await instanceIs(0, 'closed');
    const { outcome } = await timed(aClient());
    expect(outcome).toMatchObject({ verdict: 'closed', code: 'STALE_QUOTE' });
    await instanceIs(1, 'open');
  });

  test('with one killed in the middle: every order opens, none waits', async () => {
    const gate = aClient();
    expect((await timed(gate)).outcome).toMatchObject({ verdict: 'open' });
    await opens();
    await instances[0]!.kill();
    for (let time = 0; time < 5; time += 1) {
      const { outcome, tookMs } = await timed(gate);
      expect(outcome).toMatchObject({ verdict: 'open' });
      expect(tookMs).toBeLessThan(TIMEOUT_MS / 2);
      await opens();
    }
    expect(await instances[1]!.metric('tekil_gate_verdicts_total', { code: 'OPEN' })).toBeGreaterThan(9);
  });

  test('with one frozen: the other answers within the one deadline, and at once from then on', async () => {
    const gate = aClient();
    await timed(gate);
    instances[0]!.freeze();
    const first = await timed(gate);
    expect(first.outcome).toMatchObject({ verdict: 'open' });
    expect(first.tookMs).toBeGreaterThanOrEqual(TIMEOUT_MS / 2 - 5);
    expect(first.tookMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    const next = await timed(gate);
    expect(next.outcome).toMatchObject({ verdict: 'open' });
    expect(next.tookMs).toBeLessThan(TIMEOUT_MS / 2);
    await opens();
    // The one that slept is taken up again when it is the only one left.
    await instances[1]!.kill();
    instances[0]!.thaw();
    await waitFor(
      'the one that slept to answer',
      async () => typeof (await timed(gate)).outcome !== 'string',
    );
  });

  test('with both down, one killed and one frozen: nothing opens, and the order waits for either', async () => {
    const gate = aClient();
    await timed(gate);
    await instances[0]!.kill();
    instances[1]!.freeze();
    const { outcome, tookMs } = await timed(gate);
    expect(outcome).toMatch(
      new RegExp(
        `^no quote gate gave a verdict: the one at ${gates[0]} (refused the connection|could not be asked: .+); ` +
          `the one at ${gates[1]} did not answer within \\d+ ms$`,
      ),
    );
    expect(tookMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    const body = aBody();
    expect((await client.submit(body)).status).toBe(202);
    expect(system.venue.commands(body.clientOrderId)).toEqual([]);
    instances[0] = await startInstance(0);
    feed.snapshot();
    const answer = await waitFor('an answer', async () => {
      const given = await client.submit(body);
      return given.status !== 202 && given;
    });
    // A gate that has just come is closed until it has heard a snapshot. That is an answer, too; "open" by nobody is not.
    expect([201, 409]).toContain(answer.status);
    await opens();
  });
});
