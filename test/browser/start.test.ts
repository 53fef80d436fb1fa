import { describe, expect, test } from 'vitest';
import { useBrowserSession } from './browser-session.ts';
import { call } from './controls.ts';
import { chosenEngines } from './drivers/start.ts';

const base = '/db/';

/** What a page may ask of `start`, and what it has of it. */
describe.each(chosenEngines())('a start in %s', (engine) => {
  const session = useBrowserSession(engine);

  async function openControl() {
    const site = await session.openSite();
    return site.open('control');
  }

  test('can wait for the database alone, and the service worker is registered later', async () => {
    const tab = await openControl();
    await call(tab, 'start', { base, waitFor: 'database' });
    expect((await call(tab, 'request', 'settee', 'PUT', '/db/notes')).status).toBe(201);
    expect(await call(tab, 'controlled')).toBe(true);
    expect(await call(tab, 'status')).toMatchObject({ controlled: true });
    expect((await call(tab, 'request', 'fetch', 'GET', '/db/notes')).status).toBe(200);
  });

  test.each([
    ['database', ['started', 'registers', true]],
    ['control', ['registers', 'started', true]],
  ])('that waits for %s registers the service worker at the right time', async (waitFor, order) => {
    const tab = await openControl();
    const steps = await tab.evaluate(`(async () => {
      const { start } = await import('/settee.js');
      const steps = [];
      const { register } = ServiceWorkerContainer.prototype;
      ServiceWorkerContainer.prototype.register = function (...given) {
        steps.push('registers');
        return register.apply(this, given);
      };
      const settee = await start({ base: '/db/', waitFor: '${waitFor}' });
      steps.push('started');
      steps.push(await settee.controlled);
      return steps;
    })()`);
    expect(steps).toEqual(order);
  });

  test('that waits for the database alone reports later whether the service worker works', async () => {
    const tab = await openControl();
    await call(tab, 'start', { base, waitFor: 'database', serviceWorker: '/missing.js' });
    expect((await call(tab, 'request', 'settee', 'PUT', '/db/notes')).status).toBe(201);
    await expect(call(tab, 'controlled')).rejects.toThrow('missing.js did not start');
    expect((await call(tab, 'status')).uncontrolledBecause).toContain('missing.js did not start');
  });

  test('without a service worker reports that', async () => {
    const tab = await openControl();
    await call(tab, 'start', { base, serviceWorker: false });
    expect(await call(tab, 'controlled')).toBe(false);
    const status = await call(tab, 'status');
    expect(status.controlled).toBe(false);
    expect(status.uncontrolledBecause).toContain('use settee.fetch');
  });

  test('in a browser without service workers reports that', async () => {
    const tab = await openControl();
    await tab.evaluate('void delete Navigator.prototype.serviceWorker');
    await call(tab, 'start', { base });
    expect(await call(tab, 'controlled')).toBe(false);
    expect((await call(tab, 'status')).uncontrolledBecause).toContain('private window of Firefox');
  });

  test("doesn't wait for the user's answer to a permission prompt", async () => {
    const tab = await openControl();
    await tab.evaluate(`void Object.defineProperty(navigator, 'storage', {
      value: { persist: () => ((globalThis.asked = true), new Promise(() => {})) },
    })`);
    await call(tab, 'start', { base, serviceWorker: false, persist: true });
    expect(await tab.evaluate('asked')).toBe(true);
  });

  test('replaces the fetch of the page, from its call until close()', async () => {
    const tab = await openControl();
    const before = await tab.evaluate('String(globalThis.before = fetch)');
    const found = await tab.evaluate(`(async () => {
      const { start } = await import('/settee.js');
      const starting = start({ base: '/db/', serviceWorker: false, replaceFetch: true });
      const created = await fetch('/db/notes', { method: 'PUT' });
      const settee = await starting;
      const read = await (await fetch(new Request('/db/notes'))).json();
      const page = await fetch(location.href);
      await settee.close();
      return [created.status, read.db_name, page.headers.get('content-type'), fetch === globalThis.before];
    })()`);
    expect(before).toContain('fetch');
    expect(found).toEqual([201, 'notes', expect.stringContaining('text/html'), true]);
  });

  test.each([
    ['db', 'it does not begin with a slash'],
    ['http://', 'it is not a valid address'],
    ['ftp://db.example.com/', 'its protocol is ftp:'],
    ['/', "the site's own files are below it"],
    ['/db/?a=b', 'it has a query or a fragment'],
  ])('rejects the base "%s", says why, and which bases are valid', async (wrong, why) => {
    const tab = await openControl();
    const failure = await call(tab, 'start', { base: wrong, replaceFetch: true }).then(() => 'it started', String);
    expect(failure).toContain(why);
    expect(failure).toContain('pass a path such as "/db/" or an address such as "https://db.example.com/"');
    expect(await tab.evaluate("fetch.toString().includes('native code')")).toBe(true);
  });
});
