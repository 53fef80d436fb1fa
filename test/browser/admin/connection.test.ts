import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { type AdminPage, useAdminPage } from './admin-page.ts';

const BAND = 'The server does not respond. What you see is from before, and what you have typed stays.';

describe.each(chosenEngines())('the administration page of a server that goes away in %s', (engine) => {
  const page = useAdminPage(engine);

  test('says so, and shows by itself what is new when the server is back', async () => {
    await openLibrary(page);
    await page.goTo('#/');
    await page.sees('library');
    page.front.breakDown(true);
    await page.sees(BAND);
    expect(await page.violations()).toEqual([]);
    await page.ask('PUT', 'meanwhile');
    page.front.breakDown(false);
    await page.sees('meanwhile');
    await page.seesNo('The server does not respond.');
  });

  test('loads a screen that was opened meanwhile as soon as the server is back', async () => {
    await openLibrary(page);
    await page.goTo('#/db/library/shape');
    await page.sees('1 document of 1');
    await page.goTo('#/db/library/storage');
    await page.sees('Documents 1');
    page.front.breakDown(true);
    await page.goTo('#/db/library/shape');
    await page.sees('This is loaded by itself as soon as the server responds again.');
    page.front.breakDown(false);
    await page.sees('1 document of 1');
    await page.seesNo('This is loaded by itself');
  });

  test('loses nothing that was typed: an edit, a draft, a query, a request, a replication', async () => {
    await openLibrary(page);
    // Their code is loaded when they are first seen.
    for (const [hash, there] of [
      ['#/console', 'What this page has requested'],
      ['#/replication?new=', 'New replication'],
      ['#/db/library/views?draft=', 'Nothing is stored.'],
    ] as const) {
      await page.goTo(hash);
      await page.sees(there);
    }
    await page.goTo('#/db/library/document/a');
    await page.type('Source of a', '{"n": 2}');
    await page.sees('1 document edited, not stored yet');
    page.front.breakDown(true);
    await page.press('Review and store');
    await page.press('Store', 'dialog button');
    await page.sees('The server does not respond');
    await page.press('Close');
    await page.goTo('#/console');
    await page.fill('Path', 'library/_all_docs?limit=1');
    await page.goTo('#/replication?new=');
    await page.fill('Source database', 'library');
    await page.goTo('#/db/library/views?draft=');
    await page.type('Map function', 'function (doc) { emit(doc.n, 1); }');
    page.front.breakDown(false);
    await page.seesNo('The server does not respond');
    await page.until(
      `document.querySelector('.editor > div')?.shadowRoot?.textContent.includes('emit(doc.n, 1)') === true`,
      'the draft',
    );
    await page.goTo('#/console');
    await page.until(
      `document.querySelector('[aria-label=Path]:is(input)')?.value === 'library/_all_docs?limit=1'`,
      'the path',
    );
    await page.goTo('#/replication?new=');
    await page.until(`document.querySelector('.endpoint input:not([type=radio])')?.value === 'library'`, 'the source');
    await page.press('Review and store');
    await page.press('Store', 'dialog button');
    await page.seesNo('edited, not stored yet');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ n: 2 });
  });

  test('goes on with the changes that came meanwhile', async () => {
    await openLibrary(page);
    await page.goTo('#/db/library/changes');
    await page.sees('live');
    await page.sees('a new');
    page.front.breakDown(true);
    await page.sees('waits for the server');
    await page.ask('PUT', 'library/meanwhile', { n: 3 });
    page.front.breakDown(false);
    await page.sees('meanwhile new');
    await page.seesNo('waits for the server');
  });
});

async function openLibrary(page: AdminPage): Promise<void> {
  await page.serve();
  await page.ask('PUT', 'library');
  await page.ask('PUT', 'library/a', { n: 1 });
  await page.showToAdmin();
}
