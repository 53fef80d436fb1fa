import { beforeEach, describe, expect, test } from 'vitest';
import { type Site, useBrowserSession } from './browser-session.ts';
import { call, type StartChoice } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { replaceServiceWorker } from './newer-service-worker.ts';

/** Scripts below other addresses that are the ready-made service worker: by a redirect they would be refused. */
const copies = new Map([
  ['/other-sw.js', '/settee-sw.js'],
  ['/page/settee-sw.js', '/settee-sw.js'],
  ['/page/settee-sw-core.js', '/settee-sw-core.js'],
]);

const old: StartChoice = { base: '/db/' };

/**
 * A release of an app moves its base, its service worker, or both. The page of the new release is loaded while the old service worker is in
 * control, as on the first visit after the release.
 */
describe.each(chosenEngines())('a release that changes in %s', (engine) => {
  const session = useBrowserSession(engine);
  let site: Site;
  let tab: Tab;

  beforeEach(async () => {
    site = await session.openSite();
    const { server } = site;
    server.intercept((request, response) => {
      const file = copies.get(new URL(request.url ?? '', server.origin).pathname);
      if (file === undefined) return false;
      void fetch(server.origin + file).then(async (copy) => {
        response.writeHead(200, { 'content-type': 'text/javascript', 'cache-control': 'no-cache' });
        response.end(await copy.text());
      });
      return true;
    });
  });

  async function visit(release: StartChoice): Promise<void> {
    await tab.reload();
    await call(tab, 'start', release);
  }

  /** All ways of a page that go by the service worker. */
  async function expectTakenOver(base: string): Promise<void> {
    const { controlled, uncontrolledBecause } = await call(tab, 'status');
    expect([controlled, uncontrolledBecause]).toEqual([true, undefined]);
    const statuses = await tab.evaluate(`(async () => {
      const database = '${base}n' + Math.random().toString(36).slice(2);
      const created = await fetch(database, { method: 'PUT' });
      const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
      const _attachments = { 'pixel.png': { content_type: 'image/png', data: pixel } };
      const written = await fetch(database + '/a', { method: 'PUT', body: JSON.stringify({ _attachments }) });
      const image = await new Promise((resolve) => {
        const element = new Image();
        element.onload = () => resolve('loaded');
        element.onerror = () => resolve('broken');
        element.src = database + '/a/pixel.png';
      });
      const read = await new Promise((resolve) => {
        const request = new XMLHttpRequest();
        request.open('GET', database + '/a');
        request.onloadend = () => resolve(request.status);
        request.send();
      });
      return [created.status, written.status, image, read, (await send('settee', database)).status];
    })()`);
    expect(statuses).toEqual([201, 201, 'loaded', 200, 200]);
  }

  test.each<[string, StartChoice]>([
    ['the base', { base: '/data/' }],
    ['the base, to another origin', { base: 'https://db.example.com/' }],
    ['the address of the service worker', { base: '/db/', serviceWorker: '/other-sw.js?base=/db/' }],
    ['the base and the address of the service worker', { base: '/data/', serviceWorker: '/other-sw.js?base=/data/' }],
    [
      'the base and the scope of the service worker',
      { base: '/page/db/', serviceWorker: '/page/settee-sw.js?base=/page/db/' },
    ],
  ])(
    '%s: the new release takes over on the first visit, and so does the old one when the change is reverted',
    async (_, release) => {
      tab = await site.open('control');
      await visit(old);
      await visit(old);
      await expectTakenOver(old.base);
      await visit(release);
      await expectTakenOver(release.base);
      await visit(old);
      await expectTakenOver(old.base);
    },
  );

  test('the base and the build: the new release takes over on the first visit', async () => {
    tab = await site.open('control');
    await visit(old);
    await visit(old);
    await replaceServiceWorker(site.server);
    await visit({ base: '/data/' });
    await expectTakenOver('/data/');
    expect(await tab.evaluate("caches.has('newer version')")).toBe(true);
  });

  test('the base, while a tab of the previous release is open: both releases continue, each with its own storage', async () => {
    tab = await site.open('control');
    await visit(old);
    await visit(old);
    const before = tab;
    expect(await call(before, 'request', 'settee', 'PUT', '/db/notes')).toMatchObject({ status: 201 });
    tab = await site.open('control');
    await call(tab, 'start', { base: '/data/' });
    await expectTakenOver('/data/');
    expect(await call(before, 'request', 'settee', 'GET', '/db/notes')).toMatchObject({ status: 200 });
    expect(await call(tab, 'request', 'settee', 'GET', '/data/notes')).toMatchObject({ status: 404 });
  });
});
