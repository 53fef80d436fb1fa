import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { ROOT, useAdminPage } from './admin-page.ts';

const READ_ONLY =
  'Read-only mode is on: this server’s setting utils/read_only says so. Switch it off at the bottom of the menu.';

/** Runs in the page: a file `note.txt`. */
const FILE = `const files = new DataTransfer(); files.items.add(new File(['hello'], 'note.txt', { type: 'text/plain' }));`;
const DROP = `void (() => { ${FILE} document.querySelector('.attachments')
  .dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true })); })()`;
const CHOOSE = `void (() => { ${FILE} const input = document.querySelector('.attachments input[type=file]');
  input.files = files.files; input.dispatchEvent(new Event('change', { bubbles: true })); })()`;

describe.each(chosenEngines())('attaching files on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  /** A server with a document in a database that everybody may read. */
  async function serveDocument(settings = ROOT): Promise<void> {
    await page.serve(settings);
    await page.ask('PUT', 'library');
    await page.ask('PUT', 'library/_security', { members: { roles: [], names: [] }, admins: { roles: [], names: [] } });
    await page.ask('PUT', 'library/a', { n: 1 });
  }

  test('stores a chosen file after the request was shown', async () => {
    await serveDocument();
    await page.showToAdmin('#/db/library/document/a');
    await page.sees('Attach files');
    await page.tab.evaluate(CHOOSE);
    await page.sees('Attach note.txt');
    await page.sees(`method: 'PUT'`);
    await page.press('Attach');
    await page.sees('text/plain · 5 B');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ _attachments: { 'note.txt': { length: 5 } } });
  });

  test('is off in read-only mode, also for files that are dropped', async () => {
    await serveDocument({ ...ROOT, utils: { read_only: 'true' } });
    await page.showToAdmin('#/db/library/document/a');
    await page.isOff('Attach files', READ_ONLY);
    await page.tab.evaluate(DROP);
    await page.until(
      `document.querySelector('dialog[open]') === null || [...document.querySelectorAll('dialog[open] button')].find((one) => one.textContent === 'Attach').ariaDisabled === 'true'`,
      'no way to attach the file',
    );
    expect(await page.ask('GET', 'library/a')).not.toHaveProperty('_attachments');
  });

  test('says what the server refuses to a user without the right, and keeps the document as it was', async () => {
    await serveDocument();
    const validate = `function (doc, old, user) { if (user.roles.indexOf('_admin') < 0) throw { forbidden: 'Only editors write here.' }; }`;
    await page.ask('PUT', 'library/_design/rules', { validate_doc_update: validate });
    await page.ask('PUT', '_users');
    const ana = { type: 'user', name: 'ana', roles: [], password: 'secret' };
    await page.ask('PUT', '_users/org.couchdb.user:ana', ana);
    await page.show();
    await page.logIn('ana', 'secret');
    await page.goTo('#/db/library/document/a');
    await page.sees('Attach files');
    await page.tab.evaluate(CHOOSE);
    await page.press('Attach');
    await page.sees('Only editors write here.');
    await page.sees('You are logged in as ana, without roles.');
    expect(await page.ask('GET', 'library/a')).not.toHaveProperty('_attachments');
  });
});
