import { describe, expect, test } from 'vitest';
import { patient } from '../../support/patience.ts';
import { chosenEngines } from '../drivers/start.ts';
import { type AdminPage, useAdminPage } from './admin-page.ts';

const NO_DRAFTS = "function (doc) { if (doc.type === 'draft') throw({ forbidden: 'Drafts stay at home.' }); }";

describe.each(chosenEngines())('replications on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  test('starts the replication of a document from a form that shows the request first, and deletes it', async () => {
    await openWithLibrary(page);
    await page.goTo('#/replication');
    await page.sees('Nothing replicates.');
    await page.press('New replication');
    await page.isOff('Review and start', 'Choose the database that is the source.');
    await page.fill('Source database', 'library');
    await page.fill('Target database', 'copy');
    await page.sees('This server has no database copy: let it be created.');
    await choose(page, 'Create the target if it does not exist');
    await choose(page, 'Continuous: copy each further change, too');
    await page.fill('Id of the document', 'to-copy');
    await page.press('Review and start');
    await page.sees(
      `await fetch("/_replicator/to-copy", { method: 'PUT', headers: {"content-type":"application/json"}, body: JSON.stringify({ "source": "library", "target": "copy", "continuous": true, "create_target": true }), })`,
    );
    await page.press('Start');
    await page.sees('In sync');
    await page.sees('Pending 0 Read 2 Written 2 Refused 0');
    await page.sees('Documents written per second');
    expect(await page.ask('GET', 'copy/a')).toMatchObject({ _id: 'a', type: 'note' });
    await page.goTo('#/replication');
    await page.sees('1, none needs attention');
    await page.press('library → copy');
    await page.press('Delete');
    await page.sees('The document to-copy is deleted, and its replication ends.');
    await page.press('Delete', 'dialog button');
    await page.sees('Nothing replicates.');
    expect(await page.ask('GET', '_replicator/to-copy')).toMatchObject({ error: 'not_found', reason: 'deleted' });
  });

  test('sends a request for chosen documents, and says what it did', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    await page.goTo('#/replication?new=');
    await page.fill('Source database', 'library');
    await page.fill('Target database', 'copy');
    await choose(page, 'Those that match a selector');
    await page.fill('Selector', '{"type": ');
    await page.sees('The selector is not JSON');
    await page.fill('Selector', '{"type": "draft"}');
    await choose(page, 'A request: it ends with the server');
    await page.press('Review and start');
    await page.sees(
      `body: JSON.stringify({ "source": "library", "target": "copy", "selector": { "type": "draft" } }), })`,
    );
    await page.press('Start');
    await page.sees('library → copy Done: 1 document written.');
    expect(await page.ask('GET', 'copy/_all_docs')).toMatchObject({ rows: [{ id: 'b' }] });
  });

  test('copies what a filter function passes, with its parameters, and offers the functions of the source', async () => {
    await openWithLibrary(page);
    const kind = 'function (doc, req) { return doc.type === req.query.type; }';
    await page.ask('PUT', 'library/_design/pick', { filters: { kind } });
    await page.ask('PUT', 'copy');
    await page.goTo('#/replication?new=');
    await page.fill('Source database', 'library');
    await page.fill('Target database', 'copy');
    await choose(page, 'Those that a filter function passes');
    await page.sees('The source has pick/kind.');
    await page.isOff('Review and start', 'Name the filter function.');
    await page.fill('Filter function', 'kind');
    await page.sees('A filter function is named like design/name.');
    await page.fill('Filter function', 'pick/kind');
    await page.fill('Its parameters, one on each line', 'type');
    await page.sees('A parameter of the filter is like name=value, and “type” is not.');
    await page.fill('Its parameters, one on each line', 'type=draft');
    expect(await page.violations()).toEqual([]);
    await choose(page, 'A request: it ends with the server');
    await page.press('Review and start');
    await page.sees('What the filter function pick/kind passes of library');
    await page.sees('"filter": "pick/kind", "query_params": { "type": "draft" }');
    await page.press('Start');
    await page.sees('library → copy Done: 1 document written.');
    expect(await page.ask('GET', 'copy/_all_docs')).toMatchObject({ rows: [{ id: 'b' }] });
  });

  test('starts after a sequence, without checkpoints, and hides the password of a proxy', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    await page.goTo('#/replication?new=');
    await page.fill('Source database', 'library');
    await page.fill('Target database', 'copy');
    await choose(page, 'A request: it ends with the server');
    await page.press('Checkpoints and proxy');
    await page.fill('Seconds between two checkpoints', 'soon');
    await page.sees('The time between two checkpoints must be a number of seconds above 0.');
    await page.fill('Seconds between two checkpoints', '2.5');
    await page.fill('Proxy for connections to other servers', 'http://ana:secret@127.0.0.1:9');
    await page.press('Review and start');
    await page.sees('"checkpoint_interval": 2500, "proxy": "http://ana:PASSWORD@127.0.0.1:9/"');
    await page.press('Close');
    await page.fill('Proxy for connections to other servers', '');
    await page.fill('Start after this sequence of the source', '1');
    await choose(
      page,
      'Store no checkpoints: for a source or a target that refuses local documents. Each start compares all changes again',
    );
    await page.press('Review and start');
    await page.sees('Changes of the source up to 1 are skipped, whatever was copied before.');
    await page.sees('"since_seq": 1, "use_checkpoints": false }');
    await page.press('Start');
    await page.sees('library → copy Done: 1 document written.');
    expect(await page.ask('GET', 'copy/_all_docs')).toMatchObject({ rows: [{ id: 'b' }] });
    expect(await page.ask('GET', 'library/_local_docs')).toMatchObject({ rows: [] });
  });

  test('shows no password, neither in the review nor in the document', async () => {
    await openWithLibrary(page);
    await page.goTo('#/replication?new=');
    await page.fill('Source database', 'library');
    await choose(page, 'An address', 1);
    await page.fill('Target address', 'http://127.0.0.1:9/copy');
    await page.fill('Target user name', 'ana');
    await page.fill('Target password', 'p@ss');
    await page.fill('Id of the document', 'away');
    await page.press('Review and start');
    await page.sees('"target": "http://ana:PASSWORD@127.0.0.1:9/copy"');
    await page.press('Start');
    await page.sees('The document away');
    expect(await page.ask('GET', '_replicator/away')).toMatchObject({
      target: expect.stringMatching(/^http:\/\/ana:-sealed-[\w-]+@127\.0\.0\.1:9\/copy$/),
    });
    await page.press('The document away');
    await page.sees('http://ana:PASSWORD@127.0.0.1:9/copy');
    expect(await page.tab.evaluate(`document.documentElement.outerHTML.includes('p%40ss')`)).toBe(false);
  });

  test('names the refused documents with their reason, and retries them', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    const { rev } = Object(await page.ask('PUT', 'copy/_design/check', { validate_doc_update: NO_DRAFTS }));
    await page.ask('PUT', '_replicator/to-copy', { source: 'library', target: 'copy', continuous: true });
    await page.goTo('#/replication/to-copy');
    await page.sees('1 refused document');
    await page.sees('b forbidden Drafts stay at home.');
    await page.ask('DELETE', `copy/_design/check?rev=${rev}`);
    await page.press('Review and retry');
    await page.sees('"retry_refused": true');
    await page.sees('The replication itself goes on.');
    await page.press('Retry');
    await page.sees('The last retry wrote 1 document, and none was refused.');
    await page.seesNo('1 refused document');
    expect(await page.ask('GET', 'copy/b')).toMatchObject({ type: 'draft' });
  });

  test('retries the refused documents of a replication that has ended', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    const { rev } = Object(await page.ask('PUT', 'copy/_design/check', { validate_doc_update: NO_DRAFTS }));
    await page.ask('PUT', '_replicator/once', { source: 'library', target: 'copy' });
    await page.goTo('#/replication/once');
    await page.sees('Completed');
    await page.sees('b forbidden Drafts stay at home.');
    await page.ask('DELETE', `copy/_design/check?rev=${rev}`);
    await page.press('Review and retry');
    await page.sees('The replication itself has ended, and stays so');
    await page.press('Retry');
    await page.sees('The last retry wrote 1 document, and none was refused.');
    await page.sees('are those of the replication, without the retry.');
    await page.seesNo('1 refused document');
    await page.sees('Refused 0');
    expect(await page.ask('GET', 'copy/b')).toMatchObject({ type: 'draft' });
  });

  test('asks for no job of a replication that is done', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    await page.ask('PUT', '_replicator/once', { source: 'library', target: 'copy' });
    await page.goTo('#/replication/once');
    await page.sees('Completed');
    const before = page.front.seen.length;
    const since = (part: string) => page.front.seen.slice(before).filter((one) => one.includes(part));
    await expect.poll(() => since('_scheduler/docs/').length, patient).toBeGreaterThan(2);
    expect(since('_scheduler/jobs/')).toEqual([]);
  });

  test('starts a replication that is done again', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    await page.ask('PUT', '_replicator/once', { source: 'library', target: 'copy' });
    await page.goTo('#/replication/once');
    await page.sees('Completed');
    await page.ask('PUT', 'library/c', {});
    await page.press('Start again');
    await page.sees('The document is stored again without its state');
    await page.press('Start again', 'dialog button');
    await page.until(
      `fetch('/copy/c', { headers: { authorization: 'Basic ' + btoa('root:rootpw') } }).then(({ status }) => status === 200)`,
      'the document at the target',
    );
  });

  test('keeps the outcome of a request, retries what was refused, and sends it again', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    const { rev } = Object(await page.ask('PUT', 'copy/_design/check', { validate_doc_update: NO_DRAFTS }));
    await page.goTo('#/replication?new=');
    await page.fill('Source database', 'library');
    await page.fill('Target database', 'copy');
    await choose(page, 'Those with these ids');
    await page.isOff('Review and start', 'Name at least one document.');
    await page.fill('Ids, one on each line', 'b\n\n50%25\n');
    await choose(page, 'A request: it ends with the server');
    await page.press('Review and start');
    await page.sees('"doc_ids": [ "b", "50%2525" ]');
    await page.press('Start');
    await page.sees('library → copy Done: 0 documents written.');
    await page.sees('b forbidden Drafts stay at home.');
    await page.ask('DELETE', `copy/_design/check?rev=${rev}`);
    await page.press('Review and retry');
    await page.press('Retry');
    await page.sees('library → copy Done: 1 document written.');
    await page.seesNo('Drafts stay at home.');
    await page.press('Send again');
    await page.sees('library → copy Done: nothing was new.');
    await page.press('Remove library → copy from the list');
    await page.seesNo('Requests of this page');
  });

  test('finds replications by their names, and those that need attention', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    await page.ask('PUT', '_replicator/lost', { source: 'nowhere', target: 'copy' });
    await page.ask('PUT', '_replicator/to-copy', { source: 'library', target: 'copy', continuous: true });
    await page.goTo('#/replication');
    await page.sees('1 of 2 needs attention');
    await page.fill('Source, target or document contains', 'libr');
    await page.seesNo('nowhere → copy');
    await page.sees('library → copy');
    await choose(page, 'Only those that need attention');
    await page.sees('None is like that.');
    await page.fill('Source, target or document contains', '');
    await page.sees('nowhere → copy');
  });

  test('lists what requests asked for, and cancels it', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    await page.ask('POST', '_replicate', { source: 'library', target: 'copy', continuous: true });
    await page.goTo('#/replication');
    await page.press('library → copy');
    await page.sees('In sync');
    await page.press('Cancel');
    await page.sees('"cancel": true');
    await page.press('Cancel the replication');
    await page.sees('Nothing replicates.');
    expect(await page.ask('GET', '_scheduler/jobs')).toMatchObject({ total_rows: 0 });
  });

  test('changes the document of a running replication by writing it again', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    await page.ask('PUT', 'other');
    await page.ask('PUT', '_replicator/to-copy', { source: 'library', target: 'copy', continuous: true });
    await page.goTo('#/replication/to-copy');
    await page.sees('In sync');
    await page.press('Edit');
    await page.isOff('Review and store', 'Nothing has changed.');
    await rewriteText(page, '{"source": "library", "target": "other", "continuous": true, "owner": "root"}');
    await page.press('Review and store');
    await page.sees('A running replication can’t be changed: its document is deleted and written again.');
    await page.press('Store');
    await page.sees('To other');
    await page.sees('In sync');
    expect(await page.ask('GET', 'other/a')).toMatchObject({ type: 'note' });
    expect(await page.ask('GET', '_replicator/to-copy')).toMatchObject({ target: 'other', continuous: true });
  });

  test('says why a replication fails, and tells those who are not admins what they lack', async () => {
    await page.open('#/replication');
    await page.sees('Only admins can see the list of replications. You are not logged in.');
    await page.logIn();
    await page.ask('PUT', '_replicator/lost', { source: 'nowhere', target: 'copy' });
    await page.goTo('#/replication');
    await page.sees('1 of 1 needs attention');
    await page.sees('could not open');
  });

  test('breaks no rule of accessibility', async () => {
    await openWithLibrary(page);
    await page.ask('PUT', 'copy');
    await page.ask('PUT', 'copy/_design/check', { validate_doc_update: NO_DRAFTS });
    await page.ask('PUT', '_replicator/to-copy', { source: 'library', target: 'copy', continuous: true });
    await page.goTo('#/replication');
    await page.sees('library → copy');
    expect(await page.violations()).toEqual([]);
    await page.goTo('#/replication/to-copy');
    await page.sees('Drafts stay at home.');
    expect(await page.violations()).toEqual([]);
    await page.goTo('#/replication?new=');
    await page.sees('New replication');
    await choose(page, 'An address', 1);
    await choose(page, 'Those with these ids');
    expect(await page.violations()).toEqual([]);
  });
});

/** A page with an admin who is logged in, and a database with two documents. */
async function openWithLibrary(page: AdminPage): Promise<void> {
  await page.openAsAdmin();
  await page.ask('PUT', 'library');
  await page.ask('PUT', 'library/a', { type: 'note' });
  await page.ask('PUT', 'library/b', { type: 'draft' });
}

/** Clicks a box or a choice; `index` chooses among those of that name. */
async function choose(page: AdminPage, label: string, index = 0): Promise<void> {
  await page.until(
    `(() => {
      const found = [...document.querySelectorAll('label')].filter((one) => one.textContent.trim() === ${JSON.stringify(label)})[${index}];
      found?.click();
      return found !== undefined;
    })()`,
    `a choice named ${label}`,
  );
}

/** Replaces the whole text of the editor, as somebody would who selects all and types. */
async function rewriteText(page: AdminPage, text: string): Promise<void> {
  const content = `document.querySelector('.editor > div')?.shadowRoot?.querySelector('.cm-content')`;
  await page.until(`${content} != null`, 'the editor');
  await page.tab.evaluate(`void (() => {
    const content = ${content};
    content.focus();
    document.getSelection().selectAllChildren(content);
    document.execCommand('insertText', false, ${JSON.stringify(text)});
  })()`);
}
