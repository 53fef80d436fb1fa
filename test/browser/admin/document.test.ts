import { describe, expect, test } from 'vitest';
import { patient } from '../../support/patience.ts';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('a document on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  async function openLibrary(): Promise<void> {
    await page.openAsAdmin();
    await page.ask('PUT', 'library');
  }

  test('is created with an id, and stored after the request was shown', async () => {
    await openLibrary();
    await page.goTo('#/db/library');
    await page.press('New document');
    await page.fill('Id', 'moby');
    await page.press('Continue');
    await page.sees('not stored');
    await page.type('Source of moby', '{"title": "Moby-Dick", "year": 1851}');
    await page.sees('1 document edited, not stored yet');
    await page.press('Review and store');
    await page.sees('library/moby new');
    await page.press('Store');
    await page.seesNo('not stored');
    const { _rev: first } = Object(await page.ask('GET', 'library/moby'));
    await showsAsNew(first);
    expect(await page.ask('GET', 'library/moby')).toMatchObject({ title: 'Moby-Dick', year: 1851 });
  });

  test('is stored with its id alone, and says how it is stored before anything is edited', async () => {
    await openLibrary();
    await page.goTo('#/db/library/document/empty?new=');
    await page.press('Review and store');
    await page.sees('library/empty new');
    await page.press('Store');
    await page.sees('Delete the document');
    expect(await page.ask('GET', 'library/empty')).toEqual({ _id: 'empty', _rev: expect.stringMatching(/^1-/) });
    await page.isOff('Review and store', 'Nothing is edited yet.');
    expect(await page.violations()).toEqual([]);
    await page.type('Source of empty', '{"n": 1}');
    await page.sees('1 document edited, not stored yet');
    expect(await page.whyOff('Review and store')).toBeUndefined();
  });

  /** The revision is in sight, marked, and said to screen readers. */
  async function showsAsNew(rev: string): Promise<void> {
    await page.until(`document.querySelector('header .rev.new')?.textContent === ${JSON.stringify(rev)}`, rev);
    expect(await page.tab.evaluate(`document.querySelector('.document-screen [aria-live=polite]').textContent`)).toBe(
      `The revision is ${rev} now.`,
    );
  }

  test('shows its new revision where it is stored, also at the end of a long document', async () => {
    await openLibrary();
    const text = (n: number) => JSON.stringify({ n, list: Array.from({ length: 300 }, (_, at) => at) }, null, 1);
    const { rev } = Object(await page.ask('PUT', 'library/long', JSON.parse(text(1))));
    await page.goTo('#/db/library/document/long');
    await page.until(`document.querySelector('header .rev:not(.new)')?.textContent === ${JSON.stringify(rev)}`, rev);
    await page.type('Source of long', text(2));
    await page.sees('1 document edited, not stored yet');
    await page.tab.evaluate(`void document.querySelector('main').scrollTo(0, 1e6)`);
    await page.press('Review and store');
    await page.hasFocus('Store');
    await page.enter();
    await page.seesNo('not stored yet');
    const { _rev: next } = Object(await page.ask('GET', 'library/long'));
    await showsAsNew(next);
    expect(
      await page.tab.evaluate(`(() => {
        const { top, bottom } = document.querySelector('header .rev').getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight && document.querySelector('main').scrollTop > 0;
      })()`),
    ).toBe(true);
  });

  test('is edited together with another one, and each edit can be undone by itself', async () => {
    await openLibrary();
    await page.ask('PUT', 'library/a', { n: 1 });
    await page.ask('PUT', 'library/b', { n: 1 });
    for (const id of ['a', 'b']) {
      await page.goTo(`#/db/library/document/${id}`);
      await page.type(`Source of ${id}`, '{"n": 2}');
    }
    await page.press('2 documents edited, not stored yet');
    await page.press('Undo the edit of a');
    await page.sees('1 document edited, not stored yet');
    await page.press('Review and store');
    await page.press('Store');
    await page.seesNo('not stored yet');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ n: 1 });
    expect(await page.ask('GET', 'library/b')).toMatchObject({ n: 2 });
  });

  test('that somebody else has changed is refused, and the edit is kept', async () => {
    await openLibrary();
    await page.ask('PUT', 'library/a', { n: 1 });
    await page.goTo('#/db/library/document/a');
    await page.type('Source of a', '{"n": 2}');
    const stored = await page.ask('GET', 'library/a');
    await page.ask('PUT', 'library/a', { ...Object(stored), n: 3 });
    await page.press('Review and store');
    await page.press('Store');
    await page.sees('Not stored: a: Document update conflict.');
    await page.press('Cancel');
    await page.sees('Somebody else has stored a newer revision since you began to edit.');
    await page.press('Keep mine');
    await page.press('Review and store');
    await page.press('Store');
    await page.seesNo('not stored yet');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ n: 2 });
  });

  test('that is not JSON can not be stored, and the page says why', async () => {
    await openLibrary();
    await page.ask('PUT', 'library/a', { n: 1 });
    await page.goTo('#/db/library/document/a');
    await page.type('Source of a', '{"n": 2');
    await page.sees('This is not JSON');
    await expect.poll(() => page.whyOff('Review and store'), patient).toContain('This is not JSON');
  });

  test('is deleted when the edits are stored', async () => {
    await openLibrary();
    await page.ask('PUT', 'library/a', { n: 1 });
    await page.goTo('#/db/library/document/a');
    await page.press('Delete the document');
    await page.sees('This document will be deleted when you store your edits.');
    await page.press('Review and store');
    await page.sees('library/a to be deleted');
    await page.press('Store');
    await page.sees('Deleted (revision 2-');
    await page.seesNo('not stored');
    await page.gone('library/a');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ error: 'not_found', reason: 'deleted' });
    expect(await page.tab.evaluate(`document.querySelector('.document-screen [aria-live=polite]').textContent`)).toBe(
      'The document is deleted.',
    );
    expect(await page.tab.evaluate(`document.querySelectorAll('[role=tab]').length`)).toBe(0);
    await page.press('To the list of all documents');
    await page.sees('New document');
  });

  test('that is deleted is brought back, or written anew where its content is gone', async () => {
    await openLibrary();
    const { rev } = Object(await page.ask('PUT', 'library/a', { n: 1 }));
    await page.ask('DELETE', `library/a?rev=${rev}`);
    await page.goTo('#/db/library/document/a');
    await page.press('Bring it back');
    await page.press('Review and store');
    await page.press('Store');
    await page.sees('Delete the document');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ n: 1 });
    const tombstone = { _id: 'b', _rev: '2-b', _deleted: true, _revisions: { start: 2, ids: ['b', 'a'] } };
    await page.ask('POST', 'library/_bulk_docs', { docs: [tombstone], new_edits: false });
    await page.goTo('#/db/library/document/b');
    await page.sees('Deleted (revision 2-b). The content that it had is gone.');
    await page.press('Write it again');
    await page.type('Source of b', '{"n": 3}');
    await page.press('Review and store');
    await page.press('Store');
    await page.sees('Delete the document');
    expect(await page.ask('GET', 'library/b')).toMatchObject({ n: 3 });
  });

  test('with a conflict of three revisions gets one value for each field, and one revision', async () => {
    await openLibrary();
    const docs = ['a', 'b', 'c'].map((name) => ({
      _id: 'trip',
      _rev: `1-0000000000000000000000000000000${name}`,
      ...{ place: `place ${name}`, days: name, kept: true },
    }));
    await page.ask('POST', 'library/_bulk_docs', { docs, new_edits: false });
    await page.goTo('#/db/library/document/trip');
    await page.sees('it has 3 revisions that know nothing of each other');
    await page.sees('The same in all of them: kept.');
    await page.fill('Take everything from', docs[0]?._rev ?? '');
    await page.tab.evaluate(
      `void [...document.querySelectorAll('fieldset')].find((one) => one.querySelector('legend').textContent === 'days').querySelector('input').click()`,
    );
    await page.press('Review and resolve');
    await page.sees('2 other revisions are deleted');
    await page.press('Resolve');
    await page.seesNo('it has 3 revisions');
    const merged = await page.ask('GET', 'library/trip?conflicts=true');
    await showsAsNew(Object(merged)._rev);
    const [winner, , third] = docs.toReversed();
    expect(merged).toMatchObject({ days: winner?.days, kept: true });
    expect([winner?.place, docs[1]?.place, third?.place]).toContain(Object(merged).place);
    expect(Object(merged).place).not.toBe(winner?.place);
    expect(Object(merged)._conflicts).toBeUndefined();
  });

  test('shows its attachments, and removes one after the request was shown', async () => {
    await openLibrary();
    const note = { content_type: 'text/plain', data: 'aGVsbG8=' };
    await page.ask('PUT', 'library/a', { _attachments: { 'note.txt': note } });
    await page.goTo('#/db/library/document/a');
    await page.sees('text/plain · 5 B');
    await page.press('Remove note.txt');
    await page.sees(`method: 'DELETE'`);
    await page.press('Remove');
    await page.sees('None. Drop files here, or choose some.');
    expect(await page.ask('GET', 'library/a')).not.toHaveProperty('_attachments');
  });

  test('breaks no rule of accessibility, in conflict or not', async () => {
    await openLibrary();
    const docs = ['a', 'b'].map((name) => ({ _id: 'x', _rev: `1-0000000000000000000000000000000${name}`, name }));
    await page.ask('POST', 'library/_bulk_docs', { docs, new_edits: false });
    await page.goTo('#/db/library/document/x');
    await page.sees('it has 2 revisions that know nothing of each other');
    await page.until(`document.querySelector('.editor > div')?.shadowRoot?.querySelector('.cm-content') != null`);
    expect(await page.violations()).toEqual([]);
    await page.press('Review and resolve');
    expect(await page.violations()).toEqual([]);
  });
});
