import { describe, expect, test } from 'vitest';
import { patient } from '../../support/patience.ts';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('accounts on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  test('creates the first admin, who is then logged in', async () => {
    await page.open('#/users', {});
    await page.sees('This server has no admin: anyone who reaches it may do anything.');
    await page.fill('Name', 'root');
    await page.fill('Password', 'rootpw');
    await page.fill('Password again', 'rootpv');
    await page.sees('The passwords differ.');
    await page.fill('Password again', 'rootpw');
    await page.sees('_config/admins/root');
    await page.press('Create and log in');
    await page.sees('root · admin');
    await page.seesNo('This server has no admin');
    expect(await page.ask('GET', '_session')).toMatchObject({ userCtx: { name: 'root', roles: ['_admin'] } });
    expect(await page.violations()).toEqual([]);
  });

  test('creates a user, changes roles and password, and deletes the user', async () => {
    await page.openAsAdmin('#/users');
    await page.press('Create the database of users');
    await page.press('Create');
    await page.press('Create user');
    await page.hasFocus('Name');
    await page.fill('Name', 'ana');
    await page.sees('The account needs a password.');
    await page.fill('Password', 'secret');
    await page.fill('Password again', 'secret');
    await page.fill('Roles, with commas between them', 'editor, reader');
    await page.sees('"password": "••••••"');
    await page.focus('dialog input');
    await page.enter();
    await page.sees('ana editor reader');
    await page.press('Edit ana');
    await page.hasFocus('New password (empty: it stays)');
    await page.fill('New password (empty: it stays)', 'better');
    await page.fill('Password again', 'better');
    await page.fill('Roles, with commas between them', 'writer');
    await page.press('Save');
    await page.sees('ana writer');
    const session = await fetch(`${page.host.baseUrl}/_session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'ana', password: 'better' }),
    });
    expect(await session.json()).toEqual({ ok: true, name: 'ana', roles: ['writer'] });
    expect(await page.violations()).toEqual([]);
    await page.press('Delete the user ana');
    await page.fill('Type ana to confirm', 'ana');
    await page.press('Delete');
    await page.sees('There is no user yet.');
  });

  test('keeps passwords out of the console', async () => {
    await page.openAsAdmin('#/users');
    await page.press('Create admin');
    await page.fill('Name', 'second');
    await page.fill('Password', 'hush');
    await page.fill('Password again', 'hush');
    await page.press('Create');
    await expect.poll(() => page.whyOff('Delete the admin second'), patient).toBe(undefined);
    await page.goTo('#/console');
    await page.sees('What this page has requested');
    await page.seesNo('second');
    expect(Object.keys((await page.ask('GET', '_config/admins')) as object)).toEqual(['root', 'second']);
  });

  test('says to those who are not admins what is missing', async () => {
    await page.open('#/users');
    await page.sees('Only admins can see the list of accounts. You are not logged in.');
  });
});
