import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Browser } from '../drivers/browser.ts';
import { chosenEngines, startBrowser } from '../drivers/start.ts';
import { AdminPage } from './admin-page.ts';

describe.each(chosenEngines())('a document that others change on the administration page in %s', (engine) => {
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

  const REVS = [
    '1-00000000000000000000000000000001',
    '1-00000000000000000000000000000002',
    '1-00000000000000000000000000000003',
  ];

  /** Three leaves: the last one wins. */
  async function openConflict(members: (number: number) => object): Promise<AdminPage> {
    const opened = await openLibrary();
    const docs = REVS.map((rev, number) => ({ _id: 'trip', _rev: rev, ...members(number) }));
    await opened.ask('POST', 'library/_bulk_docs', { docs, new_edits: false });
    await opened.goTo('#/db/library/document/trip');
    await opened.sees('it has 3 revisions that know nothing of each other');
    return opened;
  }

  const check = (label: string) =>
    `(() => { const found = [...document.querySelectorAll('.conflict label')].find((one) => one.innerText.replace(/\\s+/g, ' ').includes(${JSON.stringify(label)})); found?.click(); return found !== undefined; })()`;

  test('has labels of its revisions that differ, says what is lost, and takes a value that no revision has', async () => {
    const opened = await openConflict((number) => ({ place: `place ${number}`, n: number }));
    await opened.sees(`${REVS[2]} (the winner)`);
    await opened.sees('4 values are lost');
    await opened.until(check('another value'));
    await opened.fill('Value of place, as JSON', '"place');
    await opened.sees('This is not JSON: line 1, column 7: the text ends within a string.');
    expect(await opened.violations()).toEqual([]);
    await opened.fill('Value of place, as JSON', '["all", 1.0]');
    await opened.sees('5 values are lost');
    await opened.press('Review and resolve');
    await opened.sees('2 other revisions are deleted, each by its own revision, in one request.');
    await opened.press('Resolve');
    await opened.seesNo('it has 3 revisions');
    expect(await opened.text('library/trip?conflicts=true')).toMatch(/"place":\["all",1.0\],"n":2\}$/);
  });

  test('in conflict and changed meanwhile is left as it is, and what was chosen is kept', async () => {
    const opened = await openConflict((number) => ({ place: `place ${number}`, n: number }));
    await opened.until(check('"place 0"'));
    await opened.press('Review and resolve');
    await opened.sees('Only when that is done');
    await opened.ask('PUT', 'library/trip', { _rev: REVS[2], place: 'place 2', n: 7 });
    await opened.press('Resolve');
    await opened.sees('The document was changed since you began to choose. Nothing was stored');
    await opened.press('Cancel');
    await opened.sees('The revisions have changed since you began to choose.');
    await opened.press('Review and resolve');
    await opened.press('Resolve');
    await opened.seesNo('it has 3 revisions');
    expect(await opened.ask('GET', 'library/trip?conflicts=true')).toMatchObject({ place: 'place 0', n: 7 });
    expect(await opened.ask('GET', 'library/trip?conflicts=true')).not.toHaveProperty('_conflicts');
  });

  test('in conflict keeps the attachments of the winner, and those of others that are chosen', async () => {
    const file = (text: string) => ({ content_type: 'text/plain', data: btoa(text) });
    const opened = await openConflict((number) => ({
      n: number,
      _attachments: { [`${number}.txt`]: file(`file ${number}`) },
    }));
    await opened.until(check('0.txt'));
    await opened.fill('Take everything from', REVS[1] ?? '');
    await opened.press('Review and resolve');
    await opened.sees('1 attachment is stored with it.');
    await opened.press('Resolve');
    await opened.seesNo('it has 3 revisions');
    expect(await opened.text('library/trip/2.txt')).toBe('file 2');
    expect(await opened.text('library/trip/0.txt')).toBe('file 0');
    expect(await opened.ask('GET', 'library/trip/1.txt')).toMatchObject({ error: 'not_found' });
  });

  test('in conflict is not resolved in part if the result is refused: nothing is deleted', async () => {
    const opened = await openConflict((number) => ({ n: number }));
    await opened.ask('PUT', 'library/_design/d', {
      validate_doc_update: `function (doc) { if (doc.n === 0) throw({ forbidden: 'n must not be 0' }); }`,
    });
    await opened.fill('Take everything from', REVS[0] ?? '');
    await opened.press('Review and resolve');
    await opened.press('Resolve');
    await opened.sees('Not stored (forbidden): n must not be 0');
    await opened.press('Cancel');
    await opened.sees('it has 3 revisions that know nothing of each other');
    expect(Object(await opened.ask('GET', 'library/trip?conflicts=true'))._conflicts).toHaveLength(2);
  });

  test('shows theirs beside the edit, and merges both by field', async () => {
    const opened = await openLibrary();
    await opened.ask('PUT', 'library/a', { mine: 1, theirs: 1, both: 1 });
    const { _rev } = Object(await opened.ask('GET', 'library/a'));
    await opened.goTo('#/db/library/document/a');
    await opened.type('Source of a', '{"mine": 2, "theirs": 1, "both": 2}');
    await opened.ask('PUT', 'library/a', { _rev, mine: 1, theirs: 3, both: 3 });
    await opened.press('Reload');
    await opened.press('See theirs');
    await opened.until(
      `document.querySelector('.comparison > div')?.shadowRoot?.querySelector('.cm-changedLine') != null`,
    );
    expect(await opened.violations()).toEqual([]);
    await opened.press('Merge by field');
    await opened.sees('both changed in both');
    expect(await opened.violations()).toEqual([]);
    await opened.press('Continue with the merged text');
    await opened.seesNo('A newer revision');
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.seesNo('not stored yet');
    expect(await opened.ask('GET', 'library/a')).toMatchObject({ mine: 2, theirs: 3, both: 2 });
  });

  test('and deleted can be stored again from the edit', async () => {
    const opened = await openLibrary();
    const { rev } = Object(await opened.ask('PUT', 'library/a', { n: 1 }));
    await opened.goTo('#/db/library/document/a');
    await opened.type('Source of a', '{"n": 2}');
    await opened.ask('DELETE', `library/a?rev=${rev}`);
    await opened.press('Reload');
    await opened.sees('Somebody else has deleted this document since you began to edit.');
    await opened.press('Keep mine');
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.seesNo('not stored yet');
    expect(await opened.ask('GET', 'library/a')).toMatchObject({ n: 2 });
  });

  test('is refused by a design document: the reason stays beside the text until it is changed', async () => {
    const opened = await openLibrary();
    await opened.ask('PUT', 'library/_design/d', {
      validate_doc_update: `function (doc) { if (!doc.title) throw({ forbidden: 'a title is missing' }); }`,
    });
    await opened.ask('PUT', 'library/a', { title: 'Emma' });
    await opened.goTo('#/db/library/document/a');
    await opened.type('Source of a', '{"n": 2}');
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.sees('Not stored: a: a title is missing');
    await opened.press('Cancel');
    await opened.sees('The server did not store this edit: a title is missing');
    await opened.sees('Your edit is kept.');
    expect(await opened.violations()).toEqual([]);
    await opened.type('Source of a', '{"n": 2, "title": "Emma"}');
    await opened.seesNo('The server did not store this edit');
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.seesNo('not stored yet');
  });

  test('keeps an edit while the server does not respond', async () => {
    const opened = await openLibrary();
    await opened.ask('PUT', 'library/a', { n: 1 });
    await opened.goTo('#/db/library/document/a');
    await opened.type('Source of a', '{"n": 2}');
    await opened.sees('1 document edited, not stored yet');
    await opened.setUnreachable(true);
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.sees('The server does not respond');
    await opened.press('Cancel');
    await opened.goTo('#/db/library/document/b');
    await opened.goTo('#/db/library/document/a');
    await opened.press('Form', '[role=tab]');
    await opened.until(`document.querySelector('[aria-label="n"]')?.value === '2'`);
    await opened.setUnreachable(false);
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.seesNo('not stored yet');
    expect(await opened.ask('GET', 'library/a')).toMatchObject({ n: 2 });
  });
});
