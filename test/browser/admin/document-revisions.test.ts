import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('the revisions of a document on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  async function openLibrary(): Promise<void> {
    await page.openAsAdmin();
    await page.ask('PUT', 'library');
  }

  /** Writes branches: each has its revisions, the leaf first. */
  async function writeBranches(
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
    await page.ask('POST', 'library/_bulk_docs', { docs, new_edits: false });
  }

  const rows = `[...document.querySelectorAll('.revision-row')].map((one) => one.innerText.replace(/\\s+/g, ' ').trim())`;

  test('are drawn as a tree, with the winner, conflicts, deleted ones and those whose body is gone', async () => {
    await openLibrary();
    await writeBranches(
      'trip',
      [
        ['4-aaaaaaa1', '3-aaaaaaaa', '2-aaaaaaaa', '1-aaaaaaaa'],
        ['4-aaaaaaa0', '3-bbbbbbbb', '2-aaaaaaaa', '1-aaaaaaaa'],
        ['3-cccccccc', '2-aaaaaaaa', '1-aaaaaaaa'],
      ],
      ['3-cccccccc'],
    );
    await page.goTo('#/db/library/document/trip');
    await page.press('Revisions', '[role=tab]');
    await page.sees('7 revisions, 3 branches.');
    await page.sees('the contents of replaced revisions may be dropped at any time, within seconds');
    expect(await page.tab.evaluate(rows)).toEqual([
      '4-aaaaaaa1 winner replaces 3-aaaaaa',
      '3-aaaaaa body is gone replaces 2-aaaaaa',
      '4-aaaaaaa0 conflict replaces 3-bbbbbb',
      '3-bbbbbb body is gone replaces 2-aaaaaa',
      '3-cccccc deleted replaces 2-aaaaaa',
      '2-aaaaaa body is gone replaces 1-aaaaaa',
      '1-aaaaaa body is gone',
    ]);
    expect(await page.tab.evaluate(`document.querySelectorAll('.tree-line').length`)).toBe(7);
    expect(await page.violations()).toEqual([]);
  });

  test('are shown side by side, and an older one can be edited again', async () => {
    await openLibrary();
    await page.putText('library/a', '{"title":"EMMA","n":1.0}');
    const first = Object(await page.ask('GET', 'library/a'))._rev;
    await page.putText('library/a', `{"_rev":"${first}","title":"Emma","n":1.0}`);
    await page.goTo('#/db/library/document/a');
    await page.press('Revisions', '[role=tab]');
    const inside = `document.querySelector('.comparison > div')?.shadowRoot`;
    await page.until(`${inside}?.querySelectorAll('.cm-mergeViewEditor').length === 2`);
    const texts = `[...${inside}.querySelectorAll('.cm-changedLine')].map((one) => one.textContent.trim())`;
    await page.until(
      `JSON.stringify(${texts}) === '["\\\\"title\\\\": \\\\"EMMA\\\\",","\\\\"title\\\\": \\\\"Emma\\\\","]'`,
    );
    expect(await page.violations()).toEqual([]);
    await page.press(`Edit from ${first.slice(0, 8)}`);
    await page.sees('1 document edited, not stored yet');
    await page.press('Review and store');
    await page.press('Store');
    await page.seesNo('not stored yet');
    expect(await page.text('library/a')).toContain('"title":"EMMA","n":1.0}');
  });

  test('whose body is gone after it was shown say so', async () => {
    await openLibrary();
    await page.ask('PUT', 'library/a', { n: 1 });
    const first = Object(await page.ask('GET', 'library/a'))._rev;
    await page.ask('PUT', 'library/a', { _rev: first, n: 2 });
    await page.goTo('#/db/library/document/a');
    await page.press('Revisions', '[role=tab]');
    await page.until(`document.querySelector('.comparison > div') !== null`);
    await page.ask('POST', 'library/_compact', {});
    await page.gone(`library/a?rev=${first}`);
    const choose = (label: string) =>
      page.tab.evaluate(`void document.querySelector('[aria-label="${label}"]').click()`);
    await choose(`${first.slice(0, 8)} on the right`);
    await page.sees(`is gone: it was dropped after it had been replaced`);
  });

  test('of a tree of 1,000 revisions and 100 leaves are folded, and unfolded where they are wanted', async () => {
    await openLibrary();
    const trunk = Array.from({ length: 100 }, (_, age) => `${100 - age}-t`);
    const branches = Array.from({ length: 100 }, (_, number) => [
      ...Array.from({ length: 9 }, (_one, age) => `${109 - number - age}-${number}x`),
      ...trunk.slice(number),
    ]);
    await writeBranches('wide', branches);
    await page.goTo('#/db/library/document/wide');
    await page.press('Revisions', '[role=tab]');
    await page.sees('1,000 revisions, 100 branches.');
    const count = `document.querySelectorAll('.revision-row').length`;
    expect(Number(await page.tab.evaluate(count))).toBeLessThan(600);
    await page.press('7 revisions, each replaced by the next');
    await page.until(`document.querySelectorAll('.revision-row button').length < 100`);
    expect(await page.tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  test('of a deleted document are there, and its text can be edited again', async () => {
    await openLibrary();
    const { rev } = Object(await page.ask('PUT', 'library/a', { n: 1 }));
    await page.ask('DELETE', `library/a?rev=${rev}`);
    await page.goTo('#/db/library/document/a');
    await page.press(`Edit from ${rev.slice(0, 8)}`);
    await page.press('Review and store');
    await page.press('Store');
    await page.seesNo('not stored');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ n: 1 });
  });
});
