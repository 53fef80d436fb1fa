import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';
import { startForeignServer } from './foreign/foreign-server.ts';

/** The ids of the rows that are there, in their order. */
const IDS = `[...document.querySelectorAll('.virtual-row a')].map((one) => one.textContent)`;
/** The ids of those that are marked as being in conflict. */
const TAGGED = `[...document.querySelectorAll('.virtual-row')].filter((one) => one.querySelector('.tag')?.textContent === 'in conflict').map((one) => one.querySelector('a').textContent)`;

/** Two documents in conflict, one with three leaves; one whose conflict was resolved; one whose leaves are all deleted; and others. */
const DOCS: readonly object[] = [
  ...Array.from({ length: 10 }, (_, n) => ({ _id: `d${`${n}`.padStart(2, '0')}`, _rev: '1-a', n })),
  { _id: 'torn', _rev: '1-a', text: 'one' },
  { _id: 'torn', _rev: '1-b', text: 'other' },
  { _id: 'resolved', _rev: '1-a' },
  { _id: 'resolved', _rev: '2-c', _deleted: true, _revisions: { start: 2, ids: ['c', 'b'] } },
  { _id: 'gone', _rev: '1-a', _deleted: true },
  { _id: 'gone', _rev: '1-b', _deleted: true },
  { _id: 'split', _rev: '1-a', text: 'one' },
  { _id: 'split', _rev: '1-b', text: 'other' },
  { _id: 'split', _rev: '1-c', text: 'third' },
];

describe.each(chosenEngines())('documents in conflict on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  async function openLibrary(docs: readonly object[]): Promise<void> {
    await page.openAsAdmin();
    await fill(docs);
  }

  async function fill(docs: readonly object[]): Promise<void> {
    await page.ask('PUT', 'library');
    await page.ask('POST', 'library/_bulk_docs', { docs, new_edits: false });
    await page.goTo('#/db/library');
  }

  test('are listed by a filter, without those whose conflict is resolved', async () => {
    await openLibrary(DOCS);
    await page.sees('13 documents');
    await page.fill('Show', 'conflicts');
    await page.sees('2 documents in conflict');
    expect(await page.tab.evaluate(IDS)).toEqual(['torn', 'split']);
    await page.sees('Reads the revisions of all documents, and whole those that have several.');
    expect(await page.violations()).toEqual([]);
    await page.press('split');
    await page.until(`location.hash === '#/db/library/document/split'`, 'the document');
  });

  test('are said to be none where there are none', async () => {
    await openLibrary([{ _id: 'a', _rev: '1-a' }]);
    await page.sees('1 document');
    await page.fill('Show', 'conflicts');
    await page.sees('No document is in conflict.');
    await page.sees('0 documents in conflict');
  });

  test('are marked in the layouts that load whole documents, for every filter', async () => {
    await openLibrary(DOCS);
    await page.sees('13 documents');
    expect(await page.tab.evaluate(TAGGED)).toEqual([]);
    const layout = (number: number) =>
      page.tab.evaluate(`void document.querySelectorAll('.segments input')[${number}].click()`);
    await layout(1);
    await page.until(`${TAGGED}.join() === 'split,torn'`, 'the marks in the table');
    expect(await page.violations()).toEqual([]);
    await page.fill('Show', 'prefix');
    await page.fill('Beginning of the ids', 'to');
    await page.sees('1 document matches');
    await page.until(`${TAGGED}.join() === 'torn'`, 'the mark of one');
    await page.fill('Show', 'selector');
    await page.fill('Selector', '{"text": {"$exists": true}}');
    await page.press('Filter');
    await page.sees('2 documents match');
    await page.until(`${TAGGED}.join() === 'split,torn'`, 'the marks of what a selector finds');
    await layout(2);
    await page.until(`${TAGGED}.join() === 'split,torn'`, 'the marks beside the documents');
    // What the server adds to a document that is read is none of its members.
    await page.seesNo('_conflicts');
  });

  test('are counted where there are more than a page of them', async () => {
    const docs = Array.from({ length: 120 }, (_, n) =>
      ['1-a', '1-b'].map((_rev) => ({ _id: `d${`${n}`.padStart(3, '0')}`, _rev })),
    );
    await openLibrary(docs.flat());
    await page.sees('120 documents');
    await page.fill('Show', 'conflicts');
    await page.sees('At least 50 documents in conflict');
    await page.press('Count exactly');
    await page.sees('120 documents in conflict');
    await page.focus('[role=grid]');
    await page.key('End');
    await page.sees('d050');
    await page.key('End');
    await page.sees('d100');
    await page.key('End');
    await page.sees('d119');
    await page.key('a', { ctrlKey: true });
    await page.sees('120 of 120 selected');
  });

  test('show as they are found, with how much of the database was looked at', async () => {
    const plain = Array.from({ length: 4_497 }, (_, n) => ({ _id: `d${`${n}`.padStart(4, '0')}`, _rev: '1-a' }));
    const leaves = ['1-a', '1-b'];
    await openLibrary([
      ...leaves.map((_rev) => ({ _id: 'first', _rev })),
      ...plain,
      ...leaves.map((_rev) => ({ _id: 'last', _rev })),
    ]);
    await page.sees('4,499 documents');
    await page.tab.evaluate(`void (() => {
      const real = fetch;
      window.fetch = async (address, init) => {
        if (/_changes.*since=[^0]/.test(String(address)) && !window.letGo) await new Promise((go) => { window.letGo = go; });
        return real(address, init);
      };
    })()`);
    await page.fill('Show', 'conflicts');
    await page.sees('1 document in conflict so far: 2,000 of 4,499 looked at …');
    expect(await page.tab.evaluate(IDS)).toEqual(['first']);
    expect(await page.tab.evaluate(`document.querySelector('.count-bar progress').position > 0.4`)).toBe(true);
    expect(await page.violations()).toEqual([]);
    await page.tab.evaluate('void letGo()');
    await page.sees('2 documents in conflict');
    await page.seesNo('looked at');
    expect(await page.tab.evaluate(IDS)).toEqual(['first', 'last']);
    // Another layout does not search again.
    const asked = page.front.seen.filter((one) => one.includes('_changes')).length;
    await page.tab.evaluate(`void document.querySelectorAll('.segments input')[2].click()`);
    await page.until(`${TAGGED}.join() === 'first,last'`, 'the marks');
    expect(page.front.seen.filter((one) => one.includes('_changes'))).toHaveLength(asked);
  });

  test.each(['plain', 'couchdb'] as const)('are listed on a %s server', async (kind) => {
    await page.openAt(await startForeignServer(kind));
    await fill(DOCS);
    await page.sees('13 documents');
    await page.fill('Show', 'conflicts');
    await page.sees('2 documents in conflict');
    await page.tab.evaluate(`void document.querySelectorAll('.segments input')[1].click()`);
    await page.until(`${TAGGED}.toSorted().join() === 'split,torn'`, 'the marks');
  });
});
