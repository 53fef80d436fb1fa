import { describe, expect, test } from 'vitest';
import { useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** Sessions in the browser: the cookie is kept for the pages, and nobody else sees it (docs/http/accounts.md#sessions). */
const base = '/db/';
const session = '/db/_session';
const user = '/db/_users/org.couchdb.user:ana';
const ways: readonly Way[] = ['settee', 'fetch'];

describe.each(chosenEngines())('sessions in %s', (engine) => {
  const browser = useBrowserSession(engine);

  async function whoIs(tab: Tab, way: Way): Promise<unknown> {
    const { json } = await call(tab, 'request', way, 'GET', session);
    return Object(json).userCtx;
  }

  test.each(ways)(
    'begun by %s are valid over every transport, also after the owner closed, until logout',
    async (way) => {
      const site = await browser.openSite();
      const [first, second] = [await site.open('control'), await site.open('control')];
      for (const tab of [first, second]) await call(tab, 'start', { base });
      const ana = { type: 'user', name: 'ana', roles: ['editor'], password: 'secret' };
      expect((await call(first, 'request', way, 'PUT', '/db/_users')).status).toBe(201);
      expect((await call(first, 'request', way, 'PUT', user, ana)).status).toBe(201);
      expect(await whoIs(second, way)).toEqual({ name: null, roles: ['_admin'] });
      const begun = await call(first, 'request', way, 'POST', session, { name: 'ana', password: 'secret' });
      expect(begun).toMatchObject({ status: 200, json: { ok: true, name: 'ana', roles: ['editor'] } });
      expect(begun.headers).not.toContain('set-cookie');
      const known = { name: 'ana', roles: ['editor'] };
      for (const tab of [first, second]) for (const each of ways) expect(await whoIs(tab, each)).toEqual(known);
      await first.close();
      expect(await whoIs(second, 'settee')).toEqual(known);
      await call(second, 'close');
      expect(await whoIs(second, 'fetch')).toEqual(known);
      const third = await site.open('control');
      await call(third, 'start', { base });
      expect(await whoIs(third, 'settee')).toEqual(known);
      expect((await call(third, 'request', way, 'DELETE', session)).status).toBe(200);
      expect(await whoIs(third, way)).toEqual({ name: null, roles: ['_admin'] });
    },
  );

  test('outlive the service worker, and validation functions see their user', async ({ skip }) => {
    const { stopServiceWorkers } = browser.browser.can;
    if (stopServiceWorkers !== true) skip(stopServiceWorkers);
    const site = await browser.openSite();
    const tab = await site.open('control');
    await call(tab, 'start', { base });
    const ana = { type: 'user', name: 'ana', roles: ['editor'], password: 'secret' };
    await call(tab, 'request', 'fetch', 'PUT', '/db/_users');
    await call(tab, 'request', 'fetch', 'PUT', user, ana);
    await call(tab, 'request', 'fetch', 'PUT', '/db/notes');
    const validate = 'function (doc, old, user) { throw({forbidden: JSON.stringify(user)}); }';
    await call(tab, 'request', 'fetch', 'PUT', '/db/notes/_design/d', { validate_doc_update: validate });
    await call(tab, 'request', 'fetch', 'POST', session, { name: 'ana', password: 'secret' });
    for (const way of ways) {
      await browser.browser.stopServiceWorkers(site.server.origin);
      expect(await whoIs(tab, way)).toEqual({ name: 'ana', roles: ['editor'] });
      const written = await call(tab, 'request', way, 'PUT', '/db/notes/first', {});
      expect(written.status).toBe(403);
      expect(JSON.parse(Object(written.json).reason)).toEqual({ db: 'notes', name: 'ana', roles: ['editor'] });
    }
  });
});
