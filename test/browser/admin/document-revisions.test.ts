import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Browser } from '../drivers/browser.ts';
import { chosenEngines, startBrowser } from '../drivers/start.ts';
import { AdminPage } from './admin-page.ts';

describe.each(chosenEngines())('the revisions of a document on the administration page in %s', (engine) => {
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

  /** Writes branches: each has its revisions, the leaf first. */
  async function writeBranches(
    opened: AdminPage,
    id: string,
    branches: readonly (readonly string[])[],
    deleted: readonly string[] = [],
  ): Promise<void> {
    const docs = branches.map((revs) => ({
      _id: id,
      _rev: revs[0],
      _revisions: { start: Number.parseInt(revs[0] ?? '', 10), ids: revs.map((rev) => rev.split('-')[1]) },
      ...(deleted.includes(revs[0] ?? '') && { _deleted: true }),
      title: `Title of ${revs[0]}`,
      same: 1.5,
    }));
    await opened.ask('POST', 'library/_bulk_docs', { docs, new_edits: false });
  }

  const rows = `[...document.querySelectorAll('.revision-row')].map((one) => one.innerText.replace(/\\s+/g, ' ').trim())`;

  test('are drawn as a tree, with the winner, conflicts, deleted ones and those whose body is gone', async () => {
    const opened = await openLibrary();
    await writeBranches(
      opened,
      'trip',
      [
        ['4-aaaaaaa1', '3-aaaaaaaa', '2-aaaaaaaa', '1-aaaaaaaa'],
        ['4-aaaaaaa0', '3-bbbbbbbb', '2-aaaaaaaa', '1-aaaaaaaa'],
        ['3-cccccccc', '2-aaaaaaaa', '1-aaaaaaaa'],
      ],
      ['3-cccccccc'],
    );
    await opened.goTo('#/db/library/document/trip');
    await opened.press('Revisions', '[role=tab]');
    await opened.sees('7 revisions, 3 branches.');
    await opened.sees('not as a history');
    expect(await opened.tab.evaluate(rows)).toEqual([
      '4-aaaaaaa1 winner replaces 3-aaaaaa',
      '3-aaaaaa body is gone replaces 2-aaaaaa',
      '4-aaaaaaa0 conflict replaces 3-bbbbbb',
      '3-bbbbbb body is gone replaces 2-aaaaaa',
      '3-cccccc deleted replaces 2-aaaaaa',
      '2-aaaaaa body is gone replaces 1-aaaaaa',
      '1-aaaaaa body is gone',
    ]);
    expect(await opened.tab.evaluate(`document.querySelectorAll('.tree-line').length`)).toBe(7);
    expect(await opened.violations()).toEqual([]);
  });

  test('are shown side by side, and an older one can be edited again', async () => {
    const opened = await openLibrary();
    await opened.putText('library/a', '{"title":"EMMA","n":1.0}');
    const first = Object(await opened.ask('GET', 'library/a'))._rev;
    await opened.putText('library/a', `{"_rev":"${first}","title":"Emma","n":1.0}`);
    await opened.goTo('#/db/library/document/a');
    await opened.press('Revisions', '[role=tab]');
    const inside = `document.querySelector('.comparison > div')?.shadowRoot`;
    await opened.until(`${inside}?.querySelectorAll('.cm-mergeViewEditor').length === 2`);
    const texts = `[...${inside}.querySelectorAll('.cm-changedLine')].map((one) => one.textContent.trim())`;
    await opened.until(
      `JSON.stringify(${texts}) === '["\\\\"title\\\\": \\\\"EMMA\\\\",","\\\\"title\\\\": \\\\"Emma\\\\","]'`,
    );
    expect(await opened.violations()).toEqual([]);
    await opened.press(`Edit from ${first.slice(0, 8)}`);
    await opened.sees('1 document edited, not stored yet');
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.seesNo('not stored yet');
    expect(await opened.text('library/a')).toContain('"title":"EMMA","n":1.0}');
  });

  test('whose body is gone after it was shown say so', async () => {
    const opened = await openLibrary();
    await opened.ask('PUT', 'library/a', { n: 1 });
    const first = Object(await opened.ask('GET', 'library/a'))._rev;
    await opened.ask('PUT', 'library/a', { _rev: first, n: 2 });
    await opened.goTo('#/db/library/document/a');
    await opened.press('Revisions', '[role=tab]');
    await opened.until(`document.querySelector('.comparison > div') !== null`);
    await opened.ask('POST', 'library/_compact', {});
    await opened.gone(`library/a?rev=${first}`);
    const choose = (label: string) =>
      opened.tab.evaluate(`void document.querySelector('[aria-label="${label}"]').click()`);
    await choose(`${first.slice(0, 8)} on the right`);
    await opened.sees(`is gone: it was dropped after it had been replaced`);
  });

  test('of a tree of 1,000 revisions and 100 leaves are folded, and unfolded where they are wanted', async () => {
    const opened = await openLibrary();
    const trunk = Array.from({ length: 100 }, (_, age) => `${100 - age}-t`);
    const branches = Array.from({ length: 100 }, (_, number) => [
      ...Array.from({ length: 9 }, (_one, age) => `${109 - number - age}-${number}x`),
      ...trunk.slice(number),
    ]);
    await writeBranches(opened, 'wide', branches);
    await opened.goTo('#/db/library/document/wide');
    await opened.press('Revisions', '[role=tab]');
    await opened.sees('1,000 revisions, 100 branches.');
    const count = `document.querySelectorAll('.revision-row').length`;
    expect(Number(await opened.tab.evaluate(count))).toBeLessThan(600);
    await opened.press('7 revisions, each replaced by the next');
    await opened.until(`document.querySelectorAll('.revision-row button').length < 100`);
    expect(await opened.tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  test('of a deleted document are there, and its text can be edited again', async () => {
    const opened = await openLibrary();
    const { rev } = Object(await opened.ask('PUT', 'library/a', { n: 1 }));
    await opened.ask('DELETE', `library/a?rev=${rev}`);
    await opened.goTo('#/db/library/document/a');
    await opened.press('Revisions', '[role=tab]');
    await opened.sees('deleted');
    await opened.press(`Edit from ${rev.slice(0, 8)}`);
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.seesNo('not stored');
    expect(await opened.ask('GET', 'library/a')).toMatchObject({ n: 1 });
  });
});
