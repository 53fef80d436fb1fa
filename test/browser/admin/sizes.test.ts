import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Browser } from '../drivers/browser.ts';
import { chosenEngines, startBrowser } from '../drivers/start.ts';
import { AdminPage } from './admin-page.ts';

describe.each(chosenEngines())('the administration page of nothing and of very much in %s', (engine) => {
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

  test('leads from an empty server to a first database', async () => {
    page = await AdminPage.open(browser, '#/', {});
    await page.sees('There is no database yet.');
    await page.sees('Nothing replicates.');
    expect(await page.violations()).toEqual([]);
    for (const [hash, there] of [
      ['#/replication', 'Nothing replicates.'],
      ['#/activity', 'No task runs now.'],
      ['#/users', 'Create the first admin'],
    ] as const) {
      await page.goTo(hash);
      await page.sees(there);
      await page.until(`document.querySelector('.error-note') === null`, `no error at ${hash}`);
    }
    await page.goTo('#/');
    await page.press('Create the first one');
    await page.fill('Name', 'first');
    await page.press('Create');
    await page.sees('This database has no documents yet.');
    for (const [screen, there] of [
      ['query', 'There is none yet'],
      ['views', 'There is no design document yet.'],
      ['shape', 'This database has no documents yet.'],
      ['changes', 'Nothing has been written to this database yet.'],
      ['storage', 'This database has no design documents'],
    ] as const) {
      await page.goTo(`#/db/first/${screen}`);
      await page.sees(there);
      await page.until(`document.querySelector('.error-note') === null`, `no error at ${screen}`);
    }
  });

  test('shows 100,000 documents, runs a draft on some of them, and tells how far the index of all is', async () => {
    page = await AdminPage.open(browser);
    await page.ask('PUT', 'large');
    for (let from = 0; from < 100_000; from += 10_000) {
      const docs = Array.from({ length: 10_000 }, (_, index) => ({ _id: idOf(from + index), n: from + index }));
      await page.ask('POST', 'large/_bulk_docs', { docs });
    }
    await page.logIn();
    await page.goTo('#/');
    await page.sees('100,000');
    await page.goTo('#/db/large');
    await page.sees(idOf(0));
    await page.goTo('#/db/large/shape');
    await page.sees('100 documents of 100,000, spread evenly over the ids.');
    await page.goTo('#/db/large/views?draft=');
    await page.type('Map function', 'function (doc) {\n  if (doc.n > 99) while (true);\n  emit(doc.n, 1);\n}');
    await page.press('Run');
    // The function would never end on any other document.
    await page.sees('100 rows from 100 documents.');
    await page.type('Map function', 'function (doc) {\n  emit(doc.n, 1);\n}');
    await page.fill('Design document', 'all');
    await page.fill('View', 'numbers');
    await page.press('Review and save');
    await page.press('Save', 'dialog button');
    await page.ask('GET', 'large/_design/all/_view/numbers?limit=0');
    await page.sees('100,000 rows in the view');
    await page.sees('up to date');
  });

  test('lists few of a storm of changes, all after it, and keeps no more than 200', async () => {
    page = await AdminPage.open(browser);
    await page.ask('PUT', 'busy');
    await page.logIn();
    await page.goTo('#/db/busy/changes');
    await page.sees('Nothing has been written to this database yet.');
    await page.fill('Id contains', 'note-7');
    await write(page, 'note', 2_000);
    // 7, 70 to 79, 700 to 799: few enough to be listed.
    await page.until(`document.querySelectorAll('.change').length === 111`, '111 changes');
    await page.fill('Id contains', '');
    await page.until(`document.querySelectorAll('.change').length === 111`, 'the same changes');
    await write(page, 'storm', 2_000);
    await page.sees('changes came faster than 200 a second and are not listed.');
    await page.press('Pause');
    await write(page, 'held', 2_000);
    await page.sees('2,000 changes came since the list was paused.');
    await page.press('Continue');
    await page.until(`document.querySelectorAll('.change').length === 200`, '200 changes');
    await page.sees('held-1999');
    expect(await page.violations()).toEqual([]);
  });
});

function idOf(number: number): string {
  return `doc-${`${number}`.padStart(6, '0')}`;
}

async function write(page: AdminPage, name: string, count: number): Promise<void> {
  const docs = Array.from({ length: count }, (_, number) => ({ _id: `${name}-${number}`, number }));
  await page.ask('POST', 'busy/_bulk_docs', { docs });
}
