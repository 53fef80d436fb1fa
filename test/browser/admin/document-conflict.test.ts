import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('a document that others change on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  async function openLibrary(): Promise<void> {
    await page.openAsAdmin();
    await page.ask('PUT', 'library');
  }

  const REVS = [
    '1-00000000000000000000000000000001',
    '1-00000000000000000000000000000002',
    '1-00000000000000000000000000000003',
  ];

  /** Three leaves: the last one wins. */
  async function openConflict(members: (number: number) => object): Promise<void> {
    await openLibrary();
    const docs = REVS.map((rev, number) => ({ _id: 'trip', _rev: rev, ...members(number) }));
    await page.ask('POST', 'library/_bulk_docs', { docs, new_edits: false });
    await page.goTo('#/db/library/document/trip');
    await page.sees('it has 3 revisions that know nothing of each other');
  }

  const check = (label: string) =>
    `(() => { const found = [...document.querySelectorAll('.conflict label')].find((one) => one.innerText.replace(/\\s+/g, ' ').includes(${JSON.stringify(label)})); found?.click(); return found !== undefined; })()`;

  test('has labels of its revisions that differ, says what is lost, and takes a value that no revision has', async () => {
    await openConflict((number) => ({ place: `place ${number}`, n: number }));
    await page.sees(`${REVS[2]} (the winner)`);
    await page.sees('4 values are lost');
    await page.until(check('another value'));
    await page.fill('Value of place, as JSON', '"place');
    await page.sees('This is not JSON: line 1, column 7: the text ends within a string.');
    expect(await page.violations()).toEqual([]);
    await page.fill('Value of place, as JSON', '["all", 1.0]');
    await page.sees('5 values are lost');
    await page.press('Review and resolve');
    await page.sees('2 other revisions are deleted, each by its own revision, in one request.');
    await page.sees('Their content may be dropped at any time from then on');
    await page.press('Resolve');
    await page.seesNo('it has 3 revisions');
    expect(await page.text('library/trip?conflicts=true')).toMatch(/"place":\["all",1.0\],"n":2\}$/);
  });

  test('in conflict and changed meanwhile is left as it is, and what was chosen is kept', async () => {
    await openConflict((number) => ({ place: `place ${number}`, n: number }));
    await page.until(check('"place 0"'));
    await page.press('Review and resolve');
    await page.sees('Only when that is done');
    await page.ask('PUT', 'library/trip', { _rev: REVS[2], place: 'place 2', n: 7 });
    await page.press('Resolve');
    await page.sees('The document was changed since you began to choose. Nothing was stored');
    await page.press('Cancel');
    await page.sees('The revisions have changed since you began to choose.');
    await page.press('Review and resolve');
    await page.press('Resolve');
    await page.seesNo('it has 3 revisions');
    expect(await page.ask('GET', 'library/trip?conflicts=true')).toMatchObject({ place: 'place 0', n: 7 });
    expect(await page.ask('GET', 'library/trip?conflicts=true')).not.toHaveProperty('_conflicts');
  });

  test('in conflict keeps the attachments of the winner, and those of others that are chosen', async () => {
    const file = (text: string) => ({ content_type: 'text/plain', data: btoa(text) });
    await openConflict((number) => ({
      n: number,
      _attachments: { [`${number}.txt`]: file(`file ${number}`) },
    }));
    await page.until(check('0.txt'));
    await page.fill('Take everything from', REVS[1] ?? '');
    await page.press('Review and resolve');
    await page.sees('1 attachment is stored with it.');
    await page.press('Resolve');
    await page.seesNo('it has 3 revisions');
    expect(await page.text('library/trip/2.txt')).toBe('file 2');
    expect(await page.text('library/trip/0.txt')).toBe('file 0');
    expect(await page.ask('GET', 'library/trip/1.txt')).toMatchObject({ error: 'not_found' });
  });

  test('in conflict is not resolved in part if the result is refused: nothing is deleted', async () => {
    await openConflict((number) => ({ n: number }));
    await page.ask('PUT', 'library/_design/d', {
      validate_doc_update: `function (doc) { if (doc.n === 0) throw({ forbidden: 'n must not be 0' }); }`,
    });
    await page.fill('Take everything from', REVS[0] ?? '');
    await page.press('Review and resolve');
    await page.press('Resolve');
    await page.sees('Not stored (forbidden): n must not be 0');
    await page.press('Cancel');
    await page.sees('it has 3 revisions that know nothing of each other');
    expect(Object(await page.ask('GET', 'library/trip?conflicts=true'))._conflicts).toHaveLength(2);
  });

  test('shows theirs beside the edit, and merges both by field', async () => {
    await openLibrary();
    await page.ask('PUT', 'library/a', { mine: 1, theirs: 1, both: 1 });
    const { _rev } = Object(await page.ask('GET', 'library/a'));
    await page.goTo('#/db/library/document/a');
    await page.type('Source of a', '{"mine": 2, "theirs": 1, "both": 2}');
    await page.ask('PUT', 'library/a', { _rev, mine: 1, theirs: 3, both: 3 });
    await page.press('Reload');
    await page.press('See theirs');
    await page.until(
      `document.querySelector('.comparison > div')?.shadowRoot?.querySelector('.cm-changedLine') != null`,
    );
    expect(await page.violations()).toEqual([]);
    await page.press('Merge by field');
    await page.sees('both changed in both');
    expect(await page.violations()).toEqual([]);
    await page.press('Continue with the merged text');
    await page.seesNo('A newer revision');
    await page.press('Review and store');
    await page.press('Store');
    await page.seesNo('not stored yet');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ mine: 2, theirs: 3, both: 2 });
  });

  test('and deleted can be stored again from the edit', async () => {
    await openLibrary();
    const { rev } = Object(await page.ask('PUT', 'library/a', { n: 1 }));
    await page.goTo('#/db/library/document/a');
    await page.type('Source of a', '{"n": 2}');
    await page.ask('DELETE', `library/a?rev=${rev}`);
    await page.press('Reload');
    await page.sees('Somebody else has deleted this document since you began to edit.');
    await page.press('Keep mine');
    await page.press('Review and store');
    await page.press('Store');
    await page.seesNo('not stored yet');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ n: 2 });
  });

  test('is refused by a design document: the reason stays beside the text until it is changed', async () => {
    await openLibrary();
    await page.ask('PUT', 'library/_design/d', {
      validate_doc_update: `function (doc) { if (!doc.title) throw({ forbidden: 'a title is missing' }); }`,
    });
    await page.ask('PUT', 'library/a', { title: 'Emma' });
    await page.goTo('#/db/library/document/a');
    await page.type('Source of a', '{"n": 2}');
    await page.press('Review and store');
    await page.press('Store');
    await page.sees('Not stored: a: a title is missing');
    await page.press('Cancel');
    await page.sees('The server did not store this edit: a title is missing');
    await page.sees('Your edit is kept.');
    expect(await page.violations()).toEqual([]);
    await page.type('Source of a', '{"n": 2, "title": "Emma"}');
    await page.seesNo('The server did not store this edit');
    await page.press('Review and store');
    await page.press('Store');
    await page.seesNo('not stored yet');
  });

  test('keeps an edit while the server does not respond', async () => {
    await openLibrary();
    await page.ask('PUT', 'library/a', { n: 1 });
    await page.goTo('#/db/library/document/a');
    await page.type('Source of a', '{"n": 2}');
    await page.sees('1 document edited, not stored yet');
    await page.setUnreachable(true);
    await page.press('Review and store');
    await page.press('Store');
    await page.sees('The server does not respond');
    await page.press('Cancel');
    await page.goTo('#/db/library/document/b');
    await page.goTo('#/db/library/document/a');
    await page.press('Form', '[role=tab]');
    await page.until(`document.querySelector('[aria-label="n"]')?.value === '2'`);
    await page.setUnreachable(false);
    await page.press('Review and store');
    await page.press('Store');
    await page.seesNo('not stored yet');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ n: 2 });
  });
});
