import { describe, expect, test } from 'vitest';
import { patient } from '../../support/patience.ts';
import { chosenEngines } from '../drivers/start.ts';
import { type AdminPage, useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('the self-test of the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  test('finds that this server does what it should, and leaves no database behind', async () => {
    await openSelfTest(page);
    await page.press('Run 12 checks');
    await page.sees('All 12 passed.');
    expect(await page.ask('GET', '_all_dbs')).toEqual([]);
    expect(await page.violations()).toEqual([]);
  });

  test('keeps what it found while other screens are shown, with the time', async () => {
    await openSelfTest(page);
    await page.press('Run 12 checks');
    await page.goTo('#/console');
    await page.sees('What this page has requested');
    await page.goTo('#/self-test');
    await page.sees('All 12 passed.');
    await page.goTo('#/');
    await page.sees('There is no database yet.');
    await page.goTo('#/self-test');
    await page.sees('All 12 passed.');
    await page.until(
      `/^Checked at \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.$/.test(document.querySelector('[role=status] .muted').textContent.trim())`,
      'the time',
    );
  });

  test('names what is left when the server went away in the middle, and deletes it', async () => {
    await openSelfTest(page);
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
    await openSelfTest(page);
    // The checks wait for this response for ever.
    await page.tab.evaluate(`void (() => {
      const real = fetch;
      window.fetch = (url, init) => (String(url).endsWith('/_find') ? new Promise(() => undefined) : real(url, init));
    })()`);
    await page.press('Run 12 checks');
    await page.sees('All 11 passed so far.');
    await page.tab.navigate('about:blank');
    if (engine === 'firefox') await deleteIfLeft(page);
    await expect.poll(() => page.ask('GET', '_all_dbs'), patient).toEqual([]);
  });
});

/** Firefox loses a small share of what is sent while a page is left. The screen, opened anew, then offers to delete what is left. */
async function deleteIfLeft(page: AdminPage): Promise<void> {
  await page.tab.navigate(`${page.front.baseUrl}/_utils/#/self-test`);
  await page.sees('Nothing has run yet.');
  const isEmpty = `fetch('/_all_dbs').then((response) => response.json()).then(({ length }) => length === 0)`;
  const isOffered = `document.body.innerText.includes('1 database of earlier runs is left.')`;
  await page.until(`${isOffered} || await ${isEmpty}`, 'the database that is left, or none');
  if ((await page.tab.evaluate(isOffered)) !== true) return;
  await page.press('Delete it');
  await page.press('Delete', 'dialog button');
  await page.seesNo('earlier runs');
}

async function openSelfTest(page: AdminPage): Promise<void> {
  await page.openAsAdmin('#/self-test');
  await page.sees('Nothing has run yet.');
}
