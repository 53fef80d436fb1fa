import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('the list of databases on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  test('creates a database after showing the request, and deletes it once its name was typed', async () => {
    await page.openAsAdmin();
    await page.sees('There is no database yet.');
    await page.press('Create database');
    await page.fill('Name', 'Library');
    await page.sees('The first character must be a small letter.');
    await page.fill('Name', 'library');
    await page.sees(`await fetch("/library", { method: 'PUT', })`);
    await page.press('Create');
    await page.sees('This database has no documents yet. You can also import a file.');
    expect(await page.ask('GET', '_all_dbs')).toEqual(['library']);
    await page.goTo('#/');
    await page.sees('library 0 0');
    await page.press('Delete library');
    await page.sees('0 documents, their revisions and attachments, and the indexes of its views are lost.');
    await page.isOff('Delete', 'Type library first.');
    await page.sees('Type library first.');
    await page.fill('Type library to confirm', 'library');
    await page.press('Delete');
    await page.sees('There is no database yet.');
    expect(await page.ask('GET', '_all_dbs')).toEqual([]);
  });

  test('creates and deletes a database by the keyboard alone: a dialog opens in its first field, and Enter submits it', async () => {
    await page.openAsAdmin();
    await page.press('Create database');
    await page.hasFocus('Name');
    await page.enter();
    await page.seesNo('This database has no documents yet.');
    await page.fill('Name', 'library');
    await page.enter();
    await page.sees('This database has no documents yet.');
    await page.goTo('#/');
    await page.press('Delete library');
    await page.hasFocus('Type library to confirm');
    await page.enter();
    await page.fill('Type library to confirm', 'library');
    expect(await page.ask('GET', '_all_dbs')).toEqual(['library']);
    await page.enter();
    await page.sees('There is no database yet.');
    expect(await page.ask('GET', '_all_dbs')).toEqual([]);
  });

  test('leads from the menu to the login, and back to where one was', async () => {
    await page.open('#/');
    await page.ask('PUT', 'library');
    await page.goTo('#/db/library/query');
    await page.press('Log in', '.user');
    await page.fill('Name', 'root');
    // The address of the login stays what it is.
    await page.press('Log in', '.user');
    await page.fill('Name', 'root');
    await page.fill('Password', 'rootpw');
    await page.press('Log in', 'button[type=submit]');
    await page.sees('Log out');
    await page.until(`location.hash === '#/db/library/query'`);
  });

  test('keeps its tabs in place when another one becomes the current one', async () => {
    await page.serve();
    await page.ask('PUT', 'library');
    await page.showToAdmin('#/db/library/query');
    // In a window with too little room, the row of tabs is scrolled.
    const places = `JSON.stringify([...document.querySelectorAll('[aria-label="Screens of library"] a')].map((one) => Math.round((one.getBoundingClientRect().x + one.parentElement.scrollLeft) * 4)))`;
    await page.until(`document.querySelector('[aria-current=page][data-label=Query]') !== null`);
    const before = await page.tab.evaluate(places);
    await page.goTo('#/db/library/storage');
    await page.until(`document.querySelector('[aria-current=page][data-label=Storage]') !== null`);
    expect(await page.tab.evaluate(places)).toBe(before);
  });

  test('shows what others write without being reloaded', async () => {
    await page.openAsAdmin();
    await page.sees('live');
    await page.ask('PUT', 'library');
    await page.sees('library 0 0');
    await page.ask('PUT', 'library/a', {});
    await page.sees('library 1 0');
    await page.ask('DELETE', 'library');
    await page.seesNo('library');
  });

  test('says nothing of the storage of the browser, which a server does not use', async () => {
    await page.openAsAdmin();
    await page.sees('There is no database yet.');
    await page.seesNo('for this site.');
  });

  test('says to those who are not admins why they can create nothing', async () => {
    await page.open();
    await page.sees('Databases');
    await page.isOff('Create database', 'Only admins can do this. Log in as an admin.');
  });

  test('writes nothing in read-only mode, with which it begins if the server says so', async () => {
    await page.openAsAdmin('#/', { admins: { root: 'rootpw' }, utils: { read_only: 'true' } });
    await page.isOff(
      'Create database',
      'Read-only mode is on: this server’s setting utils/read_only says so. Switch it off at the bottom of the menu.',
    );
  });

  test('keeps the read-only mode that the user chose while the server was asked for its own', async () => {
    await page.serve();
    await page.show('#/login');
    await page.sees('Password');
    await page.tab.evaluate(`void (() => {
      const real = fetch;
      window.fetch = (url, init) => String(url).endsWith('_utils/settings.json')
        ? new Promise((done) => { window.answer = () => done(real(url, init)); }) : real(url, init);
    })()`);
    await page.fill('Name', 'root');
    await page.fill('Password', 'rootpw');
    await page.press('Log in', 'button[type=submit]');
    await page.until('window.answer !== undefined', 'the question for the setting');
    await page.tab.evaluate(`document.querySelector('.switch input').click()`);
    await page.tab.evaluate('void window.answer()');
    await page.sees('Log out');
    await page.goTo('#/');
    await page.isOff('Create database', 'Read-only mode is on. Switch it off at the bottom of the menu.');
  });

  test('says when the server has gone', async () => {
    await page.openAsAdmin();
    await page.host.close();
    await page.sees('The server does not respond.');
  });

  test('breaks no rule of accessibility', async () => {
    await page.serve();
    await page.ask('PUT', 'library');
    await page.showToAdmin();
    await page.sees('library');
    expect(await page.violations()).toEqual([]);
    await page.press('Create database');
    expect(await page.violations()).toEqual([]);
    await page.goTo('#/login');
    await page.sees('You are logged in as root.');
    expect(await page.violations()).toEqual([]);
  });
});
