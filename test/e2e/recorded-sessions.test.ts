import { openOrder } from '../../src/db/open-order';
import { decimal, decimalText } from '../../src/domain/decimal';
import {
  executionOfReport,
  orderOfReport,
  readFixReports,
  sideOfReport,
  type FixReport,
} from '../support/fix-executions';
import { anOpenOrder } from '../support/orders';
import { recordingPath, testWithRecordings } from '../support/recordings';
import { accountRows } from '../support/rows';
import { startSystem, type TestSystem } from '../support/system';
import { waitFor } from '../support/wait-for';

describe('the executions of a recorded FIX session', () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSystem({ services: ['order-api', 'fill-bridge'] });
  });
  afterAll(async () => {
    await system.stop();
  });

  /** Opens every order of the log, as if it had been sent through Tekil. */
  const openOrders = async (reports: readonly FixReport[], accountId: string): Promise<void> => {
    const orders = new Map(reports.map((report) => [report.orderId, report]));
    for (const report of orders.values()) {
      const command = anOpenOrder({
        accountId,
        ...orderOfReport(report),
        side: sideOfReport(report),
        quantity: report.orderQty,
      });
      await openOrder(system.database.pool, command, {});
    }
  };

  const publish = async (reports: readonly FixReport[], accountId: string): Promise<void> => {
    const events = reports.flatMap((report) => executionOfReport(report, accountId) ?? []);
    await system.venue.report(...events);
  };

  const allRead = (): Promise<unknown> =>
    waitFor(
      'the bridge to have read everything',
      async () => (await system.topics.lagOf(`${system.topics.prefix}bridge`)) === 0,
    );

  testWithRecordings(
    'with a bust whose execution id was used 41 minutes earlier for another order books every fill but the busted one',
    async () => {
      const { accountId } = await system.client();
      const reports = readFixReports(recordingPath('fix42-ireach.executions.jsonl'));
      await openOrders(reports, accountId);
      await publish(reports, accountId);
      await allRead();

      // The log itself: one bust, of a fill of 500, under an id that an earlier report about another order carries.
      const [bust, ...noMore] = reports.filter(({ execTransType }) => execTransType === '1');
      expect(noMore).toEqual([]);
      const earlier = reports.find(({ execId }) => execId === bust!.execId);
      expect(earlier?.orderId).not.toBe(bust!.orderId);
      const busted = reports.find(({ execId }) => execId === bust!.execRefId)!;
      expect(busted).toMatchObject({ orderId: bust!.orderId, lastQty: '500', lastPx: '9.25' });

      const fills = reports.filter(
        ({ execType, execTransType }) => /[12]/.test(execType) && execTransType === '0',
      );
      const rows = () => accountRows(system.database.pool, accountId);
      await waitFor('every fill and the bust to be booked', async () => {
        const { fills: booked = [], events = [] } = await rows();
        const busts = events.filter((event) => (event as { type: string }).type === 'BUST');
        return booked.length === fills.length && busts.length === 1;
      });

      // Counted independently of the product: what was bought and sold of each symbol, without the busted fill.
      const net = new Map<string, string>();
      for (const report of fills) {
        const { lastQty = '0', execId } = report;
        const { symbol } = orderOfReport(report);
        const signed =
          execId === busted.execId ? '0' : `${sideOfReport(report) === 'buy' ? '' : '-'}${lastQty}`;
        net.set(symbol, decimalText(decimal(net.get(symbol) ?? '0').plus(signed)));
      }
      const { positions = [] } = await rows();
      const held = (positions as { symbol: string; quantity: string }[]).map(({ symbol, quantity }) => [
        symbol,
        decimalText(decimal(quantity)),
      ]);
      expect(Object.fromEntries(held)).toEqual(Object.fromEntries(net));
      const voided = await system.database.pool.query(
        'select effective_quantity::text as "effective", amended_by as "by" from fills where execution_id = $1',
        [busted.execId],
      );
      expect(voided.rows).toEqual([{ effective: '0', by: bust!.execId }]);

      // The session is sent again as a whole: nothing changes.
      const before = await rows();
      await publish(reports, accountId);
      await allRead();
      expect(await rows()).toEqual(before);
    },
  );

  testWithRecordings(
    'of which every report lacks what a fill needs is put aside line by line, and books nothing',
    async () => {
      const { accountId } = await system.client();
      const reports = readFixReports(recordingPath('fixt11-banzai.executions.jsonl'));
      // Execution ids begin again with every order and collide; quantities are negative or beyond any order; no report
      // says what was traded. A bridge that publishes them all the same is told so, and nothing is guessed.
      expect(new Set(reports.map(({ execId }) => execId)).size).toBe(reports.length / 2);
      await publish(reports, accountId);
      await allRead();
      const { rows } = await system.database.pool.query<{ detail: string; seen: number }>(
        'select detail, times_seen as "seen" from quarantined_events where account_id = $1',
        [accountId],
      );
      expect(rows.reduce((sum, { seen }) => sum + seen, 0)).toBe(reports.length);
      expect(new Set(rows.map(({ detail }) => detail))).toEqual(
        new Set(['quantity is required for type FILL; price is required for type FILL']),
      );
      expect(await accountRows(system.database.pool, accountId)).toMatchObject({ fills: [], positions: [] });
    },
  );
});
