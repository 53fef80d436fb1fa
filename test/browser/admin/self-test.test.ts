import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Browser } from '../drivers/browser.ts';
import { chosenEngines, startBrowser } from '../drivers/start.ts';
import { AdminPage } from './admin-page.ts';

describe.each(chosenEngines())('the self-test of the administration page in %s', (engine) => {
  let browser: Browser;
  let page: AdminPage | undefined;

  beforeAll(async () => {
    browser = await startBrowser(engine);
  });
  afterAll(() => browser?.close());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.info(browser.messages.slice(-20).join('\n'));
    await page?.close();
    page = undefined;
  });

  test('finds that this server does what it should, and leaves no database behind', async () => {
    page = await openSelfTest(browser);
    await page.press('Run 12 checks');
    await page.sees('All 12 passed.');
    expect(await page.ask('GET', '_all_dbs')).toEqual([]);
    expect(await page.violations()).toEqual([]);
  });

  test('names what is left when the server went away in the middle, and deletes it', async () => {
    page = await openSelfTest(browser);
    page.front.breakBefore = /_view/;
    await page.press('Run 12 checks');
    await page.sees('The server does not respond');
    page.front.breakDown(false);
    await page.sees('1 database of earlier runs is left.');
    await page.press('Which');
    const [left] = Object(await page.ask('GET', '_all_dbs'));
    expect(left).toMatch(/^self-test-/);
    await page.sees(left);
    expect(await page.violations()).toEqual([]);
    await page.press('Delete it');
    await page.press('Delete', 'dialog button');
    await page.seesNo('earlier runs');
    expect(await page.ask('GET', '_all_dbs')).toEqual([]);
  });

  test('deletes its database when the tab is closed in the middle', async () => {
    page = await openSelfTest(browser);
    // The checks wait for this response for ever.
    await page.tab.evaluate(`void (() => {
      const real = fetch;
      window.fetch = (url, init) => (String(url).endsWith('/_find') ? new Promise(() => undefined) : real(url, init));
    })()`);
    await page.press('Run 12 checks');
    await page.sees('All 11 passed so far.');
    await page.tab.navigate('about:blank');
    for (const end = Date.now() + 20_000; Date.now() < end; ) {
      if (JSON.stringify(await page.ask('GET', '_all_dbs')) === '[]') break;
      await new Promise((done) => setTimeout(done, 50));
    }
    expect(await page.ask('GET', '_all_dbs')).toEqual([]);
  });
});

async function openSelfTest(browser: Browser): Promise<AdminPage> {
  const page = await AdminPage.open(browser);
  await page.logIn();
  await page.goTo('#/self-test');
  await page.sees('Nothing has run yet.');
  return page;
}
