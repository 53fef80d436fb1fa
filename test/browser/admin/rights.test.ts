import { describe, expect, test } from 'vitest';
import { codeAt } from '../../../src/accounts/passwords/one-time-codes.ts';
import { chosenEngines } from '../drivers/start.ts';
import { type AdminPage, useAdminPage } from './admin-page.ts';

const NO_ADMIN =
  'Only admins of this database can do this, and ana is none. Ask one to add you on the screen Security.';

describe.each(chosenEngines())('the administration page without the rights of an admin in %s', (engine) => {
  const page = useAdminPage(engine);

  test('says on every screen of a database of members what is missing, and returns to it after the login', async () => {
    await openWithAna(page);
    for (const screen of ['documents', 'query', 'views', 'shape', 'changes', 'security', 'storage']) {
      await page.goTo(`#/db/private/${screen}`);
      await page.sees(
        'Only members of this database can read it. You are not logged in. Ask an admin to add your name',
      );
      await page.until(`document.querySelector('.error-note') === null`, `no error at ${screen}`);
    }
    await page.goTo('#/db/private/security');
    await page.press('Log in', 'a.button');
    await page.fill('Name', 'ana');
    await page.fill('Password', 'anapw');
    await page.press('Log in', 'button[type=submit]');
    await page.sees('Only ana and the admins of the server can read and write documents.');
  });

  test('lets a user in who has an authenticator app, with its code only', async () => {
    await openWithAna(page);
    // The key of the test values of RFC 6238, in Base32.
    const totp = { key: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' };
    await page.ask('PUT', '_users/org.couchdb.user:eva', {
      type: 'user',
      name: 'eva',
      roles: [],
      password: 'evapw',
      totp,
    });
    await page.goTo('#/login');
    await page.fill('Name', 'eva');
    await page.fill('Password', 'evapw');
    await page.press('Log in', 'button[type=submit]');
    await page.sees('Name or password is incorrect.');
    const step = Math.floor(Date.now() / 30_000);
    await page.fill(
      'Code',
      await codeAt({ key: new TextEncoder().encode('12345678901234567890'), hash: 'SHA-1', digits: 6 }, step),
    );
    await page.press('Log in', 'button[type=submit]');
    await page.sees('Log out');
    expect(await page.violations()).toEqual([]);
  });

  test('marks databases that nobody may read, and those of others', async () => {
    await openWithAna(page);
    // The list is read again when the screen is.
    await page.goTo('#/console');
    await page.sees('What this page has requested');
    await page.goTo('#/');
    await page.sees('no right to read');
    await page.logIn('ana', 'anapw');
    await page.goTo('#/');
    await page.sees('private');
    await page.seesNo('no right to read');
    await page.goTo('#/db/_users');
    await page.sees(
      'Only admins can access _all_docs of system databases. You are logged in as ana, with the role reader.',
    );
  });

  test('names on the screens of the server who the user is, and which role is missing', async () => {
    await openWithAna(page);
    await page.logIn('ana', 'anapw');
    const screens = [
      ['#/settings', 'the settings of the server'],
      ['#/activity', 'the activity of the server'],
      ['#/users', 'the list of accounts'],
      ['#/replication', 'the list of replications'],
    ] as const;
    for (const [hash, what] of screens) {
      await page.goTo(hash);
      await page.sees(
        `Only admins can see ${what}. You are logged in as ana, with the role reader. Log in as an admin, or ask one for the role _admin.`,
      );
      expect(await page.violations()).toEqual([]);
    }
    await page.goTo('#/users');
    await page.sees('Your account: ana');
    await page.isOff('Change the password', 'The account needs a password.');
  });

  test('switches off what only admins of the database can do', async () => {
    await openWithAna(page);
    await page.logIn('ana', 'anapw');
    await page.goTo('#/db/library/storage');
    await page.isOff('Clean up old indexes', NO_ADMIN);
    await page.isOff('Compact the index of books', NO_ADMIN);
    await page.goTo('#/db/library/views?draft=');
    await page.isOff('Review and save', NO_ADMIN);
    await page.press('Run');
    await page.sees('Only admins of this database can do this. You are logged in as ana, with the role reader.');
    await page.goTo('#/db/library/security');
    await page.sees(NO_ADMIN);
    expect(await page.violations()).toEqual([]);
  });

  test('shows why a database refuses a write, and keeps the edit', async () => {
    await openWithAna(page);
    await page.logIn('ana', 'anapw');
    await page.goTo('#/db/library/document/a');
    await page.type('Source of a', '{"n": 2}');
    await page.press('Review and store');
    await page.press('Store', 'dialog button');
    await page.sees('Not stored: a: Only editors write here.');
    await page.press('Close');
    await page.sees('1 document edited, not stored yet');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ n: 1 });
  });

  test('lets those log in who have to, where the server answers nobody else', async () => {
    const svc_httpd_auth = { require_valid_user: 'true' };
    await page.open('#/', { admins: { root: 'rootpw' }, svc_httpd_auth });
    await page.ask('PUT', 'library');
    await page.sees('This server does not list its databases for you.');
    await page.goTo('#/db/library');
    await page.sees('Only users who are logged in can do this. You are not logged in.');
    expect(await page.violations()).toEqual([]);
    await page.press('Log in', 'a.button');
    await page.fill('Name', 'root');
    await page.fill('Password', 'rootpw');
    await page.press('Log in', 'button[type=submit]');
    await page.sees('This database has no documents yet.');
    await page.sees('Settee 0.1.0');
  });
});

/** A server with the user `ana`, the database `private` of hers and `library`, which she can only read. */
async function openWithAna(page: AdminPage): Promise<void> {
  await page.open();
  await page.ask('PUT', '_users');
  const ana = { type: 'user', name: 'ana', roles: ['reader'], password: 'anapw' };
  await page.ask('PUT', '_users/org.couchdb.user:ana', ana);
  await page.ask('PUT', 'private');
  await page.ask('PUT', 'private/_security', {
    admins: { names: [], roles: [] },
    members: { names: ['ana'], roles: [] },
  });
  await page.ask('PUT', 'library');
  await page.ask('PUT', 'library/a', { n: 1 });
  await page.ask('PUT', 'library/_design/books', {
    views: { all: { map: 'function (doc) { emit(doc._id, 1); }' } },
    validate_doc_update: `function (doc, former, user) {
      if (user.roles.indexOf('editor') < 0 && user.roles.indexOf('_admin') < 0) throw({ forbidden: 'Only editors write here.' });
    }`,
  });
}
