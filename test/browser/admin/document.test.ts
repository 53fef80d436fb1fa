import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Browser } from '../drivers/browser.ts';
import { chosenEngines, startBrowser } from '../drivers/start.ts';
import { AdminPage } from './admin-page.ts';

describe.each(chosenEngines())('a document on the administration page in %s', (engine) => {
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

  async function openLibrary(): Promise<AdminPage> {
    const opened = await AdminPage.open(browser);
    page = opened;
    await opened.logIn();
    await opened.ask('PUT', 'library');
    return opened;
  }

  test('is created with an id, and stored after the request was shown', async () => {
    const opened = await openLibrary();
    await opened.goTo('#/db/library');
    await opened.press('New document');
    await opened.fill('Id', 'moby');
    await opened.press('Continue');
    await opened.sees('not stored');
    await opened.type('Source of moby', '{"title": "Moby-Dick", "year": 1851}');
    await opened.sees('1 document edited, not stored yet');
    await opened.press('Review and store');
    await opened.sees('library/moby new');
    await opened.press('Store');
    await opened.seesNo('not stored');
    const { _rev: first } = Object(await opened.ask('GET', 'library/moby'));
    await showsAsNew(opened, first);
    expect(await opened.ask('GET', 'library/moby')).toMatchObject({ title: 'Moby-Dick', year: 1851 });
  });

  /** The revision is in sight, marked, and said to screen readers. */
  async function showsAsNew(opened: AdminPage, rev: string): Promise<void> {
    await opened.until(`document.querySelector('header .rev.new')?.textContent === ${JSON.stringify(rev)}`, rev);
    expect(await opened.tab.evaluate(`document.querySelector('.document-screen [aria-live=polite]').textContent`)).toBe(
      `The revision is ${rev} now.`,
    );
  }

  test('shows its new revision where it is stored, also at the end of a long document', async () => {
    const opened = await openLibrary();
    const text = (n: number) => JSON.stringify({ n, list: Array.from({ length: 300 }, (_, at) => at) }, null, 1);
    const { rev } = Object(await opened.ask('PUT', 'library/long', JSON.parse(text(1))));
    await opened.goTo('#/db/library/document/long');
    await opened.until(`document.querySelector('header .rev:not(.new)')?.textContent === ${JSON.stringify(rev)}`, rev);
    await opened.type('Source of long', text(2));
    await opened.sees('1 document edited, not stored yet');
    await opened.tab.evaluate(`void document.querySelector('main').scrollTo(0, 1e6)`);
    await opened.press('Review and store');
    await opened.hasFocus('Store');
    await opened.enter();
    await opened.seesNo('not stored yet');
    const { _rev: next } = Object(await opened.ask('GET', 'library/long'));
    await showsAsNew(opened, next);
    expect(
      await opened.tab.evaluate(`(() => {
        const { top, bottom } = document.querySelector('header .rev').getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight && document.querySelector('main').scrollTop > 0;
      })()`),
    ).toBe(true);
  });

  test('is edited together with another one, and each edit can be undone by itself', async () => {
    const opened = await openLibrary();
    await opened.ask('PUT', 'library/a', { n: 1 });
    await opened.ask('PUT', 'library/b', { n: 1 });
    for (const id of ['a', 'b']) {
      await opened.goTo(`#/db/library/document/${id}`);
      await opened.type(`Source of ${id}`, '{"n": 2}');
    }
    await opened.press('2 documents edited, not stored yet');
    await opened.press('Undo the edit of a');
    await opened.sees('1 document edited, not stored yet');
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.seesNo('not stored yet');
    expect(await opened.ask('GET', 'library/a')).toMatchObject({ n: 1 });
    expect(await opened.ask('GET', 'library/b')).toMatchObject({ n: 2 });
  });

  test('that somebody else has changed is refused, and the edit is kept', async () => {
    const opened = await openLibrary();
    await opened.ask('PUT', 'library/a', { n: 1 });
    await opened.goTo('#/db/library/document/a');
    await opened.type('Source of a', '{"n": 2}');
    const stored = await opened.ask('GET', 'library/a');
    await opened.ask('PUT', 'library/a', { ...Object(stored), n: 3 });
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.sees('Not stored: a: Document update conflict.');
    await opened.press('Cancel');
    await opened.sees('Somebody else has stored a newer revision since you began to edit.');
    await opened.press('Keep mine');
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.seesNo('not stored yet');
    expect(await opened.ask('GET', 'library/a')).toMatchObject({ n: 2 });
  });

  test('that is not JSON can not be stored, and the page says why', async () => {
    const opened = await openLibrary();
    await opened.ask('PUT', 'library/a', { n: 1 });
    await opened.goTo('#/db/library/document/a');
    await opened.type('Source of a', '{"n": 2');
    await opened.sees('This is not JSON');
    expect(await opened.whyOff('Review and store')).toContain('This is not JSON');
  });

  test('is deleted when the edits are stored', async () => {
    const opened = await openLibrary();
    await opened.ask('PUT', 'library/a', { n: 1 });
    await opened.goTo('#/db/library/document/a');
    await opened.press('Delete the document');
    await opened.sees('This document will be deleted when you store your edits.');
    await opened.press('Review and store');
    await opened.sees('library/a to be deleted');
    await opened.press('Store');
    await opened.sees('not stored');
    expect(await opened.ask('GET', 'library/a')).toMatchObject({ error: 'not_found', reason: 'deleted' });
  });

  test('with a conflict of three revisions gets one value for each field, and one revision', async () => {
    const opened = await openLibrary();
    const docs = ['a', 'b', 'c'].map((name) => ({
      _id: 'trip',
      _rev: `1-0000000000000000000000000000000${name}`,
      ...{ place: `place ${name}`, days: name, kept: true },
    }));
    await opened.ask('POST', 'library/_bulk_docs', { docs, new_edits: false });
    await opened.goTo('#/db/library/document/trip');
    await opened.sees('it has 3 revisions that know nothing of each other');
    await opened.sees('The same in all of them: kept.');
    await opened.fill('Take everything from', docs[0]?._rev ?? '');
    await opened.tab.evaluate(
      `void [...document.querySelectorAll('fieldset')].find((one) => one.querySelector('legend').textContent === 'days').querySelector('input').click()`,
    );
    await opened.press('Review and resolve');
    await opened.sees('2 other revisions are deleted');
    await opened.press('Resolve');
    await opened.seesNo('it has 3 revisions');
    const merged = await opened.ask('GET', 'library/trip?conflicts=true');
    await showsAsNew(opened, Object(merged)._rev);
    const [winner, , third] = docs.toReversed();
    expect(merged).toMatchObject({ days: winner?.days, kept: true });
    expect([winner?.place, docs[1]?.place, third?.place]).toContain(Object(merged).place);
    expect(Object(merged).place).not.toBe(winner?.place);
    expect(Object(merged)._conflicts).toBeUndefined();
  });

  test('shows its attachments, and removes one after the request was shown', async () => {
    const opened = await openLibrary();
    const note = { content_type: 'text/plain', data: 'aGVsbG8=' };
    await opened.ask('PUT', 'library/a', { _attachments: { 'note.txt': note } });
    await opened.goTo('#/db/library/document/a');
    await opened.sees('text/plain · 5 B');
    await opened.press('Remove note.txt');
    await opened.sees(`method: 'DELETE'`);
    await opened.press('Remove');
    await opened.sees('None. Drop files here, or choose some.');
    expect(await opened.ask('GET', 'library/a')).not.toHaveProperty('_attachments');
  });

  test('breaks no rule of accessibility, in conflict or not', async () => {
    const opened = await openLibrary();
    const docs = ['a', 'b'].map((name) => ({ _id: 'x', _rev: `1-0000000000000000000000000000000${name}`, name }));
    await opened.ask('POST', 'library/_bulk_docs', { docs, new_edits: false });
    await opened.goTo('#/db/library/document/x');
    await opened.sees('it has 2 revisions that know nothing of each other');
    await opened.until(`document.querySelector('.editor > div')?.shadowRoot?.querySelector('.cm-content') != null`);
    expect(await opened.violations()).toEqual([]);
    await opened.press('Review and resolve');
    expect(await opened.violations()).toEqual([]);
  });
});
