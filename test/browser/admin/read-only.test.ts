import { describe, expect, test } from 'vitest';
import { patient } from '../../support/patience.ts';
import { chosenEngines } from '../drivers/start.ts';
import { type AdminPage, ROOT, useAdminPage } from './admin-page.ts';

/** All screens with controls that write, and what each says when it is there. */
const SCREENS: readonly (readonly [hash: string, there: string])[] = [
  ['#/', 'library'],
  ['#/replication', '1 of 1 needs attention'],
  ['#/replication?new=', 'New replication'],
  ['#/replication/lost', 'could not open'],
  ['#/replication/lost?edit=', 'Review and store'],
  ['#/users', 'ana'],
  ['#/settings', 'Takes effect at once.'],
  ['#/console', 'What this page has requested'],
  ['#/self-test', 'Nothing has run yet.'],
  ['#/db/library', 'New document'],
  ['#/db/library/document/a', 'Attachments'],
  ['#/db/library/query', 'by-n'],
  ['#/db/library/views', '_design/books'],
  ['#/db/library/views/books/all', 'Edit as a draft'],
  ['#/db/library/views?draft=', 'Review and save'],
  ['#/db/library/security', 'Admins of this database'],
  ['#/db/library/storage', 'Import'],
  ['#/db/library/changes', 'live'],
];

/** Presses all that is not off, except what leaves the screen or the mode, and what is only a way to another screen. */
const PRESS_ALL = `(async () => {
  const pause = () => new Promise((done) => setTimeout(done, 20));
  const pressed = new Set();
  for (let round = 0; round < 3; round += 1) {
    for (const one of document.querySelectorAll('main button, dialog button, main summary')) {
      const name = (one.getAttribute('aria-label') ?? one.textContent).trim();
      if (pressed.has(one) || !one.checkVisibility() || one.disabled || name === 'Log out') continue;
      pressed.add(one);
      one.click();
      await pause();
    }
  }
  return pressed.size;
})()`;

const READS =
  /^(GET|HEAD) |^POST \/(_dbs_info|_session|[^/]+\/(_find|_explain|_temp_view|_all_docs|_bulk_get|_revs_diff))\b/;

describe.each(chosenEngines())('read-only mode of the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  test('sends nothing that writes, whatever is pressed on whichever screen', async () => {
    await openLibrary(page);
    const before = page.front.seen.length;
    let pressed = 0;
    for (const [hash, there] of SCREENS) {
      await page.goTo(hash);
      await page.sees(there);
      pressed += Number(await page.tab.evaluate(PRESS_ALL));
      await page.tab.evaluate(`document.querySelector('dialog[open] [aria-label=Close]')?.click()`);
    }
    expect(pressed).toBeGreaterThan(50);
    expect(page.front.seen.slice(before).filter((one) => !READS.test(one))).toEqual([]);
    expect(await page.ask('GET', 'library/a')).toMatchObject({ _rev: expect.stringMatching(/^1-/) });
  });

  test('says why at each control that is off', async () => {
    await openLibrary(page);
    for (const [hash, there] of SCREENS) {
      await page.goTo(hash);
      await page.sees(there);
      expect([
        hash,
        await page.tab.evaluate(
          `[...document.querySelectorAll('main [aria-disabled=true]')].filter((one) => !one.title.startsWith('Read-only mode is on: this server’s setting utils/read_only says so.')).map((one) => one.textContent)`,
        ),
      ]).toEqual([hash, []]);
    }
    await page.tab.evaluate(`document.querySelector('.menu .switch input').click()`);
    await page.goTo('#/');
    await page.sees('library');
    await expect.poll(() => page.whyOff('Create database'), patient).toBeUndefined();
    await page.tab.evaluate(`document.querySelector('.menu .switch input').click()`);
    await page.isOff('Create database', 'Read-only mode is on. Switch it off at the bottom of the menu.');
  });

  test('marks the fields of a document as read only, and says why', async () => {
    await openLibrary(page);
    await page.goTo('#/db/library/document/a');
    await page.press('Form', '[role=tab]');
    await page.sees('The fields can’t be edited now. Read-only mode is on');
    const editable = `[...document.querySelectorAll('.field-form :is(input, textarea, select)')].filter((one) => !one.readOnly && !one.disabled).length`;
    expect(await page.tab.evaluate(editable)).toBe(0);
    expect(await page.violations()).toEqual([]);
    await page.tab.evaluate(`document.querySelector('.menu .switch input').click()`);
    await page.seesNo('The fields can’t be edited now.');
    expect(await page.tab.evaluate(editable)).toBe(3);
  });
});

/** A server whose settings say that the page begins in read-only mode. */
async function openLibrary(page: AdminPage): Promise<void> {
  await page.serve({ ...ROOT, utils: { read_only: 'true' } });
  await page.ask('PUT', 'library');
  await page.ask('PUT', 'library/a', { n: 1 });
  await page.ask('PUT', 'library/_design/books', { views: { all: { map: 'function (doc) { emit(doc._id, 1); }' } } });
  await page.ask('POST', 'library/_index', { index: { fields: ['n'] }, ddoc: 'by-n', name: 'by-n' });
  await page.ask('PUT', '_users');
  await page.ask('PUT', '_users/org.couchdb.user:ana', { type: 'user', name: 'ana', roles: [], password: 'anapw' });
  await page.ask('PUT', '_replicator/lost', { source: 'nowhere', target: 'copy' });
  await page.showToAdmin();
}
