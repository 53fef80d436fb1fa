import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { type AdminPage, useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('the administration page of nothing and of very much in %s', (engine) => {
  const page = useAdminPage(engine);

  test('leads from an empty server to a first database', async () => {
    await page.open('#/', {});
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
    await openLarge(page);
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

  test('renders and requests little of 100,000 documents while the user scrolls, types and looks for conflicts', async () => {
    await openLarge(page);
    const { front } = page;
    const other = [7, 50_000, 99_999].map((n) => ({ _id: idOf(n), _rev: '1-other', n }));
    await page.ask('POST', 'large/_bulk_docs', { docs: other, new_edits: false });
    await page.goTo('#/db/large');
    await page.sees('100,000 documents');
    await page.tab.evaluate(`void document.querySelectorAll('.segments input')[1].click()`);
    await page.sees('doc-000007 in conflict');
    const most = await page.tab.evaluate(`(async () => {
      const list = document.querySelector('[role=grid]');
      let most = 0;
      for (let step = 1; step <= 40; step += 1) {
        list.scrollTo({ top: (list.scrollHeight * step) / 40 });
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        most = Math.max(most, document.querySelectorAll('.virtual-row').length);
      }
      return most;
    })()`);
    expect(Number(most)).toBeLessThan(70);
    await page.sees(`${idOf(99_999)} in conflict`);
    await page.fill('Show', 'prefix');
    await page.sees('100,000 documents match');
    let before = front.seen.length;
    // As fast as nobody types: each letter is in the field at once, and the list follows the last one.
    await page.tab.evaluate(`void (() => {
      const field = document.querySelector('[aria-label="Beginning of the ids"]');
      for (let end = 1; end <= 7; end += 1) {
        field.value = 'doc-099'.slice(0, end);
        field.dispatchEvent(new Event('input', { bubbles: true }));
      }
    })()`);
    await page.sees('1,000 documents match');
    expect(front.seen.slice(before).filter((one) => one.includes('_all_docs'))).toHaveLength(2);
    before = front.seen.length;
    await page.fill('Show', 'conflicts');
    await page.sees('3 documents in conflict');
    await page.seesNo('looked at');
    // 50 lists of changes, and one of what may be in conflict.
    const requests = front.seen.slice(before).filter((one) => /_changes|_all_docs/.test(one));
    expect(requests).toHaveLength(51);
  });

  test('lists few of a storm of changes, all after it, and keeps no more than 200', async () => {
    await page.serve();
    await page.ask('PUT', 'busy');
    await page.showToAdmin('#/db/busy/changes');
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

async function openLarge(page: AdminPage): Promise<void> {
  await page.serve();
  await page.ask('PUT', 'large');
  for (let from = 0; from < 100_000; from += 10_000) {
    const docs = Array.from({ length: 10_000 }, (_, index) => ({ _id: idOf(from + index), n: from + index }));
    await page.ask('POST', 'large/_bulk_docs', { docs });
  }
  await page.showToAdmin();
}

function idOf(number: number): string {
  return `doc-${`${number}`.padStart(6, '0')}`;
}

async function write(page: AdminPage, name: string, count: number): Promise<void> {
  const docs = Array.from({ length: count }, (_, number) => ({ _id: `${name}-${number}`, number }));
  await page.ask('POST', 'busy/_bulk_docs', { docs });
}
