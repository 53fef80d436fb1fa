import { describe, expect, test } from 'vitest';
import { patient } from '../../support/patience.ts';
import { chosenEngines } from '../drivers/start.ts';
import { type AdminPage, useAdminPage } from './admin-page.ts';
import { type Kind, startForeignServer } from './foreign/foreign-server.ts';

/** All screens, and what each says when it is there. */
const SCREENS: readonly (readonly [hash: string, plain: string, couchdb: string])[] = [
  ['#/', 'This server has no list of replications.', '2 of 3 replications need attention'],
  ['#/replication', 'This server has neither _scheduler nor _active_tasks', '2 of 3 need attention'],
  ['#/replication?new=', 'Choose the database that is the source.', 'Choose the database that is the source.'],
  ['#/activity', 'This server has no list of tasks.', 'Building an index'],
  ['#/activity/log', 'This server has no log that can be read over HTTP.', 'This server has no log'],
  ['#/activity/statistics', 'This server has no statistics.', 'number of HTTP requests'],
  ['#/users', 'This server has no _session, so it has no accounts', 'adm'],
  ['#/settings', 'This server does not show its settings over HTTP.', 'max_document_size'],
  ['#/console', 'What this page has requested', 'What this page has requested'],
  ['#/self-test', 'Nothing has run yet.', 'Nothing has run yet.'],
  ['#/login', 'This server has no _session, so it has no accounts', 'You are logged in as adm.'],
  ['#/db/library', 'book-00', 'book-00'],
  ['#/db/library/document/book-00', 'Attachments', 'Attachments'],
  ['#/db/library/query', 'This server has no _index.', 'There is none yet'],
  ['#/db/library/views', 'This server does not say how large its indexes are', 'up to date'],
  ['#/db/library/views/books/years', '40 rows in the view', '40 rows in the view'],
  ['#/db/library/views?draft=', 'Nothing is stored.', 'Nothing is stored.'],
  ['#/db/library/shape', '40 documents of 41', '40 documents of 41'],
  ['#/db/library/changes', '_design/books', '_design/books'],
  ['#/db/library/security', 'This server has no _security', 'Everyone whom this server lets in'],
  ['#/db/library/storage', 'books size unknown', '12.5 kB, of which 4.1 kB are data'],
  ['#/db/nowhere', 'This server has no database nowhere', 'This server has no database nowhere'],
];

describe.each(chosenEngines())('the administration page of a foreign server in %s', (engine) => {
  const page = useAdminPage(engine);

  test.each(['plain', 'couchdb'] as const)(
    'shows every screen of a %s server, and says what is not there',
    async (kind) => {
      await openLibrary(page, kind);
      for (const [hash, plain, couchdb] of SCREENS) {
        await page.goTo(hash);
        await page.sees(kind === 'plain' ? plain : couchdb);
        await page.until(`document.querySelector('.error-note') === null`, `no error at ${hash}`);
      }
    },
  );

  test('breaks no rule of accessibility where much is not there', async () => {
    await openLibrary(page, 'plain');
    for (const [hash, plain] of SCREENS) {
      await page.goTo(hash);
      await page.sees(plain);
      expect([hash, await page.violations()]).toEqual([hash, []]);
    }
  });

  test('creates a database, stores a document, edits it, and deletes the database', async () => {
    await openLibrary(page, 'plain');
    await page.press('Create database');
    await page.fill('Name', 'notes');
    await page.press('Create');
    await page.press('New document');
    await page.fill('Id', 'first');
    await page.press('Continue');
    await page.type('Source of first', '{"text": "Hello"}');
    await page.press('Review and store');
    await page.press('Store', 'dialog button');
    await page.seesNo('not stored');
    expect(await page.ask('GET', 'notes/first')).toMatchObject({ text: 'Hello' });
    await page.goTo('#/');
    await page.press('Delete notes');
    await page.fill('Type notes to confirm', 'notes');
    await page.press('Delete', 'dialog button');
    await page.seesNo('notes');
    expect(await page.ask('GET', '_all_dbs')).toEqual(['library']);
  });

  test('says that drafts and selectors can not run, and keeps what was typed', async () => {
    await openLibrary(page, 'plain');
    await page.goTo('#/db/library/query');
    await page.press('Run');
    await page.sees('This server has no _find.');
    await page.goTo('#/db/library/views?draft=');
    await page.type('Map function', 'function (doc) { emit(doc.year, 1); }');
    await page.press('Run');
    await page.sees("This server has no _temp_view, so it can't run drafts.");
    await page.goTo('#/');
    await page.goTo('#/db/library/views?draft=');
    await page.until(
      `document.querySelector('.editor > div')?.shadowRoot?.textContent.includes('doc.year') === true`,
      'the draft',
    );
  });

  test('follows changes where the server has no continuous feed', async () => {
    await openLibrary(page, 'plain');
    await page.goTo('#/db/library/changes');
    await page.sees('live');
    await page.ask('PUT', 'library/late', { text: 'Here I am' });
    await page.sees('late new');
    await page.sees('New: text');
  });

  test('lists the replications of CouchDB, also those of requests, with what is wrong', async () => {
    await openLibrary(page, 'couchdb');
    await page.goTo('#/replication');
    await page.sees('127.0.0.1:5984/library → peer.example.org/copy');
    await page.sees('In sync');
    await page.sees('127.0.0.1:5984/library → 127.0.0.1:5984/backup');
    await page.sees('a request');
    await page.sees('db_not_found: could not open http://127.0.0.1:5984/nowhere/');
    await page.press('127.0.0.1:5984/library → 127.0.0.1:5984/backup');
    await page.sees('Pending 7');
    await expect.poll(() => page.whyOff('Cancel'), patient).toBeUndefined();
  });

  test('opens a database by its name where the server lists none', async () => {
    await openLibrary(page, 'couchdb-for-nobody');
    await page.sees('This server does not list its databases for you. You are not logged in.');
    expect(await page.violations()).toEqual([]);
    for (const hash of ['#/replication', '#/activity', '#/users', '#/settings']) {
      await page.goTo(hash);
      await page.sees('Only admins can see the');
    }
    await page.goTo('#/');
    await page.fill('Name of the database', 'library');
    await page.press('Open');
    await page.sees('book-00');
  });

  test('runs the self-test: tells what fails from what is not there, and leaves nothing', async () => {
    await openLibrary(page, 'plain');
    await page.goTo('#/self-test');
    await page.press('Run 12 checks');
    await page.sees('Run 12 checks');
    await page.until(`/1 is about what this server does not have\\./.test(document.body.innerText)`, 'the outcome');
    await page.sees('not there Selectors find documents');
    await page.sees('This server has no _find.');
    await page.sees('passed A stored document is read as it was written');
    expect(await page.ask('GET', '_all_dbs')).toEqual(['library']);
  });
});

/** A page of a foreign server with 40 books and a view of them. */
async function openLibrary(page: AdminPage, kind: Kind): Promise<void> {
  await page.openAt(await startForeignServer(kind));
  await page.ask('PUT', 'library');
  const docs = Array.from({ length: 40 }, (_, number) => ({
    _id: `book-${`${number}`.padStart(2, '0')}`,
    author: number % 2 === 0 ? 'Austen' : 'Joyce',
    year: 1900 + number,
  }));
  await page.ask('POST', 'library/_bulk_docs', { docs });
  const views = { years: { map: 'function (doc) { if (doc.year) emit(doc.year, 1); }', reduce: '_sum' } };
  await page.ask('PUT', 'library/_design/books', { views });
}
