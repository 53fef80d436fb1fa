import { describe, expect, test } from 'vitest';
import { NodeHost } from '../../support/conformance/node-host.ts';
import { patient } from '../../support/patience.ts';
import { chosenEngines } from '../drivers/start.ts';
import { type AdminPage, ROOT, useAdminPage } from './admin-page.ts';
import { startForeignServer } from './foreign/foreign-server.ts';

const NO_DRAFTS = "function (doc) { if (doc.type === 'draft') throw({ forbidden: 'Drafts stay at home.' }); }";

describe.each(chosenEngines())('what needs attention in replications on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  test('is said in the overview, where a replication is done except for refused documents', async () => {
    await openWithRefused(page);
    await page.ask('PUT', 'other');
    await page.ask('PUT', '_replicator/good', { source: 'library', target: 'other', continuous: true });
    await page.goTo('#/');
    await page.sees('1 of 2 replications needs attention');
    await page.sees('library → copy Completed, except what was refused 1 refused');
    await page.sees('library → other In sync');
    expect(
      await page.tab.evaluate(
        `[...document.querySelectorAll('.sync-band li')].map((one) => one.querySelector('.dot').className + ' ' + one.querySelector('a').textContent).join()`,
      ),
    ).toBe('dot warn library → copy,dot good library → other');
    expect(await page.violations()).toEqual([]);
    await page.goTo('#/replication');
    await page.sees('1 of 2 needs attention');
  });

  test('ends when the target has what it refused, also by another way than a retry, and after a reload', async () => {
    await openWithRefused(page);
    await page.goTo('#/replication/once');
    await page.sees('b forbidden Drafts stay at home.');
    await page.sees('Refused 1');
    const { _rev } = Object(await page.ask('GET', 'library/b'));
    await page.ask('DELETE', `copy/_design/check?rev=${Object(await page.ask('GET', 'copy/_design/check'))._rev}`);
    // A descendant of the refused revision: that one itself was replaced.
    const hash = _rev.slice(2);
    const doc = { _id: 'b', _rev: '2-abc', _revisions: { start: 2, ids: ['abc', hash] } };
    await page.ask('POST', 'copy/_bulk_docs', { docs: [doc], new_edits: false });
    await page.sees('Refused 0');
    await page.seesNo('1 refused document');
    await page.seesNo('except what was refused');
    await page.goTo('#/replication');
    await page.sees('1, none needs attention');
    // It is remembered, and not asked at each look.
    const before = seen(page, '_revs_diff');
    await page.goTo('#/');
    await page.sees('In sync or getting there');
    await page.goTo('#/replication/once');
    await page.sees('Refused 0');
    expect(seen(page, '_revs_diff')).toBe(before);
    await page.tab.reload();
    await page.sees('Refused 0');
    expect(await page.violations()).toEqual([]);
  });

  test('comes back when the target is begun anew without the document', async () => {
    await openWithRefused(page);
    await page.goTo('#/replication/once');
    await page.sees('Refused 1');
    await page.ask('DELETE', `copy/_design/check?rev=${Object(await page.ask('GET', 'copy/_design/check'))._rev}`);
    await page.ask('POST', 'copy/_bulk_docs', { docs: [await page.ask('GET', 'library/b')], new_edits: false });
    await page.sees('Refused 0');
    await page.ask('DELETE', 'copy');
    await page.ask('PUT', 'copy');
    await page.tab.reload();
    await page.sees('Refused 1');
  });

  test('stays where the target lacks the refused revision and has another one', async () => {
    await openWithRefused(page);
    await page.ask('DELETE', `copy/_design/check?rev=${Object(await page.ask('GET', 'copy/_design/check'))._rev}`);
    await page.ask('PUT', 'copy/b', { of: 'another origin' });
    await page.goTo('#/replication/once');
    await page.sees('b forbidden Drafts stay at home.');
    await page.goTo('#/replication');
    await page.sees('1 of 1 needs attention');
  });

  test('is counted as a server says that names no refused document', async () => {
    await page.openAt(await startForeignServer('couchdb'), '#/replication');
    await page.sees('2 of 3 need attention');
    await page.sees('In sync, except what was refused');
    await page.goTo('#/replication/to-peer');
    await page.sees('This server counts them, and does not say which they are.');
    expect(seen(page, '_revs_diff')).toBe(0);
  });

  test('has the source and the target as its title, and no secrets; the id is a detail', async () => {
    await openWithRefused(page);
    await page.ask('PUT', '_replicator/away', { source: 'http://ana:p%40ss@127.0.0.1:9/far', target: 'copy' });
    await page.goTo('#/replication/away');
    const heading = `document.querySelector('h1').textContent`;
    await page.until(`${heading} === '127.0.0.1:9/far → copy'`, 'the title');
    await page.sees('_replicator / away');
    await page.press('Edit');
    await page.until(`${heading} === 'Edit'`);
    await page.sees('Replication 127.0.0.1:9/far → copy Edit document away');
    await page.goTo('#/replication/once');
    await page.until(`${heading} === 'library → copy'`, 'the title');
    await page.press('Delete');
    await page.sees('Delete the replication library → copy');
    await page.sees('The document once is deleted, and its replication ends.');
  });

  test('can be started again only when it does not run, and says so', async () => {
    await openWithRefused(page);
    await page.ask('PUT', 'other');
    await page.ask('PUT', '_replicator/good', { source: 'library', target: 'other', continuous: true });
    await page.goTo('#/replication/good');
    await page.sees('In sync');
    await page.isOff('Start again', 'It is running. To change what it does, edit it.');
    await page.goTo('#/replication/once');
    await page.sees('Completed');
    await expect.poll(() => page.whyOff('Start again'), patient).toBeUndefined();
  });

  test('shows what is known at once after the server was started again', async () => {
    const host = await NodeHost.start(ROOT);
    await openWithRefused(page, host);
    await page.ask('PUT', '_replicator/lost', { source: 'nowhere', target: 'copy', continuous: true });
    await page.goTo('#/replication/once');
    await page.sees('Completed');
    await host.restart();
    await page.tab.reload();
    await page.logIn();
    await page.goTo('#/replication/once');
    await page.until(`document.querySelectorAll('[aria-label=Runs] tbody tr').length === 1`, 'the run');
    await page.sees('Read 2 Written 1 Refused 1');
    await page.goTo('#/replication/lost');
    await page.sees('No figures since the start of the server.');
    expect(await page.violations()).toEqual([]);
  });

  test('draws at once what was measured before another screen was shown', async () => {
    await openWithRefused(page);
    await page.ask('PUT', 'other');
    await page.ask('PUT', '_replicator/good', { source: 'library', target: 'other', continuous: true });
    await page.goTo('#/replication/good');
    await page.sees('Measured from now on: the first rate is there in 2 seconds.');
    await page.seesNo('Measured from now on');
    await page.goTo('#/');
    await page.sees('Databases');
    // Would be there at least until the second figure.
    await page.tab.evaluate(`void (globalThis.seen = false, new MutationObserver(() => {
      globalThis.seen ||= document.body.innerText.includes('Measured from now on');
    }).observe(document.body, { childList: true, subtree: true }))`);
    await page.goTo('#/replication/good');
    await page.until(`document.querySelectorAll('.graph canvas').length === 2`, 'two graphs');
    expect(await page.tab.evaluate('globalThis.seen')).toBe(false);
  });
});

/** How many requests to such an address the server got. */
function seen({ front }: AdminPage, part: string): number {
  return front.seen.filter((one) => one.includes(part)).length;
}

/** A page with an admin who is logged in, and a replication that is done, except for one of two documents. */
async function openWithRefused(page: AdminPage, host?: NodeHost): Promise<void> {
  await page.serveBy(host ?? (await NodeHost.start(ROOT)));
  await page.ask('PUT', 'library');
  await page.ask('PUT', 'library/a', { type: 'note' });
  await page.ask('PUT', 'library/b', { type: 'draft' });
  await page.ask('PUT', 'copy');
  await page.ask('PUT', 'copy/_design/check', { validate_doc_update: NO_DRAFTS });
  await page.ask('PUT', '_replicator/once', { source: 'library', target: 'copy' });
  for (;;) {
    const { _replication_state } = Object(await page.ask('GET', '_replicator/once'));
    if (_replication_state === 'completed') break;
    await new Promise((done) => setTimeout(done, 20));
  }
  await page.showToAdmin();
}
