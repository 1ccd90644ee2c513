import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { silentLogger } from '../../src/observability/logger';
import { startGateServer, type GateServer } from '../../src/quotes/gate-server';
import { launchBrowser, testWithBrowser } from '../support/browser';
import { aClosedVerdict, aVerdict, FakeQuotes } from '../support/quote-source';
import { waitFor } from '../support/wait-for';

const HOST = '127.0.0.1';
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 375, height: 740 };
const MARKUP = '<img src=x onerror=document.title="run">';

/** A desk's morning: most is well, each way to be closed is there once. */
const aMorning = () =>
  new FakeQuotes(
    aVerdict('AUDUSD', { bid: 0.65213, ask: 0.65221 }),
    aVerdict('EURUSD', { lost: '3' }),
    aClosedVerdict('GBPUSD', 'STALE_QUOTE', 'stale quote: 1240 ms'),
    aVerdict('NZDUSD', {
      verdict: 'closed',
      code: 'SUSPECT_QUOTE',
      reason: 'messages were lost or a session began, and the price has not been stated in full since',
      suspect: true,
      suspectSince: '2026-03-14T09:59:48.000Z',
      lost: '3',
    }),
    aVerdict('USDJPY', {
      verdict: 'closed',
      code: 'STALE_AT_SOURCE',
      reason: 'stale at source: 325400 ms',
      sourceAgeMs: 325_400,
      bid: 149.50000000000003,
    }),
  );

describe('the gate’s page in a browser', () => {
  let browser: Browser | undefined;
  let server: GateServer | undefined;
  const complaints: string[] = [];
  afterEach(async () => {
    await Promise.all((browser?.contexts() ?? []).map((context) => context.close()));
    await server?.close();
    server = undefined;
    expect(complaints.splice(0)).toEqual([]);
  });

  afterAll(async () => {
    await browser?.close();
  });

  const setup = async (quotes: FakeQuotes, viewport = DESKTOP, query = '') => {
    server = await startGateServer({ host: HOST, port: 0, streamIntervalMs: 50 }, quotes, silentLogger());
    browser ??= await launchBrowser();
    const page = await browser.newPage({ viewport, locale: 'en-GB' });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      // A connection that is refused on purpose is told by the browser as an error.
      if (message.type() === 'error' && !message.text().includes('ERR_')) complaints.push(message.text());
    });
    const url = `http://${HOST}:${server.port}/${query}`;
    await page.goto(url);
    await page.getByText('● Live').waitFor();
    return { page, url };
  };
  const rowTexts = (page: Page, symbol: string) =>
    page.getByRole('row', { name: symbol }).getByRole('cell').allInnerTexts();
  /** Kept where SCREENSHOTS names a folder, for people to look at. */
  const keepPicture = async (page: Page, name: string) => {
    const folder = process.env['SCREENSHOTS'];
    if (folder === undefined) return;
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  };

  testWithBrowser('shows each symbol with everything that its verdict rests on', async () => {
    const { page } = await setup(aMorning());
    expect(await rowTexts(page, 'EURUSD')).toEqual([
      '● open',
      '1.0845',
      '1.0847',
      '12 ms',
      '15 ms',
      '3',
      '–',
    ]);
    const [state, bid, , , age] = await rowTexts(page, 'USDJPY');
    expect(state).toContain('■ closed: STALE_AT_SOURCE');
    expect(state).toContain('stale at source: 325400 ms');
    expect([bid, age]).toEqual(['149.5', '5 min 25 s']);
    const since = (await rowTexts(page, 'NZDUSD')).at(-1);
    expect(since).toMatch(/^\d\d:59:48$/);
    expect(await page.getByRole('columnheader').count()).toBe(8);
    expect(await page.getByText('5 of 5 symbols').count()).toBe(1);
    await keepPicture(page, 'desktop');
  });

  testWithBrowser('follows what changes, without being loaded again', async () => {
    const quotes = aMorning();
    const { page } = await setup(quotes);
    quotes.set(aClosedVerdict('EURUSD', 'CLOCK_OFFSET', 'clock offset of the feed: 800 ms'));
    quotes.quotes.delete('AUDUSD');
    quotes.set(aVerdict('CADCHF'));
    await page.getByText('■ closed: CLOCK_OFFSET').waitFor();
    const symbols = await page.getByRole('rowheader').allInnerTexts();
    expect(symbols).toEqual(['CADCHF', 'EURUSD', 'GBPUSD', 'NZDUSD', 'USDJPY']);
  });

  testWithBrowser('tells a line that is dead by a word, and not by a colour alone', async () => {
    const quotes = aMorning();
    quotes.feedHealth = [
      {
        feed: 'fx',
        session: 'S1',
        lost: '3',
        lines: [
          { line: 'A', silenceMs: 12, alive: true },
          { line: 'B', silenceMs: 61_000, alive: false },
        ],
      },
    ];
    const { page } = await setup(quotes);
    const feed = await page.locator('#feeds li').innerText();
    expect(feed).toBe(
      'fx ▲ degraded · session S1 · lost 3 · line A: ● alive (12 ms ago) · line B: ■ silent (61.0 s ago)',
    );
  });

  testWithBrowser('takes what a feed or a caller calls itself for text', async () => {
    const quotes = new FakeQuotes(aClosedVerdict(MARKUP, 'STALE_QUOTE', MARKUP));
    quotes.feedHealth = [{ feed: MARKUP, session: MARKUP, lost: '0', lines: [] }];
    const { page } = await setup(quotes);
    expect(await page.getByRole('rowheader').innerText()).toBe(MARKUP);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toBe('Quote health');
  });

  testWithBrowser('is readable on a phone: nothing runs off the side, each figure has its name', async () => {
    const { page } = await setup(aMorning(), PHONE);
    await keepPicture(page, 'phone');
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(PHONE.width);
    const label = await page.evaluate(
      `getComputedStyle(document.querySelector('tbody tr').children[4], '::before').content`,
    );
    expect(label).toBe('"Silence"');
    // Laid out as cards, it is still a table for those who do not see it.
    expect(await rowTexts(page, 'GBPUSD')).toHaveLength(7);
  });

  testWithBrowser('of ten thousand symbols shows a part, a filter, and the next part', async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `S${String(index).padStart(5, '0')}`);
    const { page } = await setup(new FakeQuotes(...names.map((name) => aVerdict(name))));
    expect(await page.getByRole('rowheader').count()).toBe(50);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('rowheader', { name: 'S00050' }).waitFor();
    await page.getByRole('searchbox').fill('s0012');
    await page.getByText('10 of 10 symbols').waitFor();
    expect(await page.getByRole('rowheader').first().innerText()).toBe('S00120');
    // What is looked at can be handed on as an address.
    expect(new URL(page.url()).search).toBe('?filter=s0012&limit=50');
    await page.reload();
    await page.getByText('10 of 10 symbols').waitFor();
  });

  testWithBrowser(
    'says aloud that its figures are old when the gate has gone, and lives again with it',
    async () => {
      const quotes = aMorning();
      const { page } = await setup(quotes);
      const { port } = server!;
      await server!.close();
      await page.getByRole('status').filter({ hasText: 'what is shown is old' }).waitFor();
      expect(await page.locator('body').getAttribute('class')).toBe('old');
      await keepPicture(page, 'gone');
      server = await startGateServer({ host: HOST, port, streamIntervalMs: 50 }, quotes, silentLogger());
      await page.getByText('● Live').waitFor();
      expect(await page.locator('body').getAttribute('class')).toBe('');
    },
  );

  testWithBrowser('says when nothing was quoted yet, and when nothing matches', async () => {
    const { page } = await setup(new FakeQuotes());
    await page.getByText('No symbol has had a quote yet.').waitFor();
    await page.getByRole('searchbox').fill('zzz');
    await page.getByText('No symbol matches the filter.').waitFor();
  });

  testWithBrowser('lets go of its stream while nobody sees it', async () => {
    const quotes = aMorning();
    const { page } = await setup(quotes);
    await page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: true, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
    await waitFor('the looks to stop', async () => {
      const before = quotes.looks.length;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return quotes.looks.length === before;
    });
    await page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: false, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
    const before = quotes.looks.length;
    await waitFor('looks again', () => quotes.looks.length > before);
  });
});
