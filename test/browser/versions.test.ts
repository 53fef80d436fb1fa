import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { patient } from '../support/patience.ts';
import { type Site, useBrowserSession } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { buildNewerFiles } from './newer-build.ts';

const base = '/db/';
const built = join(import.meta.dirname, '../../dist/browser');

/** A site whose files are replaced by those of a version that speaks another protocol, while pages of the one before are open or kept. */
describe.each(chosenEngines())('pages of two versions in %s', (engine) => {
  const session = useBrowserSession(engine);
  let newer: string;
  let site: Site;
  let tab: Tab;

  beforeAll(async () => {
    newer = await buildNewerFiles();
  }, 120_000);
  afterAll(() => rm(dirname(newer), { recursive: true }));

  beforeEach(async () => {
    site = await session.openSite();
    tab = await site.open('control');
    await call(tab, 'start', { base });
    expect(await call(tab, 'request', 'settee', 'PUT', '/db/notes', null)).toMatchObject({ status: 201 });
  });

  /** From now on the site has the newer files; with `isPageKept` its pages come from the browser's cache, as they were. */
  function deploy({ isPageKept = false } = {}): void {
    site.server.intercept(({ url = '' }, response) => {
      const file = join(newer, new URL(url, 'http://localhost').pathname);
      if (!file.endsWith('.js') || !existsSync(file) || (isPageKept && file.endsWith('/settee.js'))) return false;
      response.writeHead(200, { 'content-type': 'text/javascript', 'cache-control': 'no-cache' });
      response.end(readFileSync(file));
      return true;
    });
  }

  const write = (of: Tab, id: string) => call(of, 'request', 'settee', 'PUT', `/db/notes/${id}`, {});

  test('the older page learns that it is outdated, continues through the service worker, and is current after update() and a reload', async () => {
    expect(await call(tab, 'status')).toMatchObject({ outdated: false });
    deploy();
    const other = await site.open('control');
    await call(other, 'start', { base });
    expect(await write(other, 'by the newer')).toMatchObject({ status: 201 });
    await expect.poll(() => call(tab, 'updates'), patient).toBeGreaterThan(0);
    await expect.poll(() => call(tab, 'status'), patient).toMatchObject({ outdated: true });
    expect(await write(tab, 'by the older')).toMatchObject({ status: 201 });
    expect(await call(tab, 'update')).toBe(true);
    expect(await call(other, 'status')).toMatchObject({ outdated: false });
    await tab.reload();
    await call(tab, 'start', { base });
    expect(await call(tab, 'status')).toMatchObject({ outdated: false });
    expect(await call(tab, 'ids', 'settee', '/db/notes')).toEqual(['by the newer', 'by the older']);
  });

  test('a page from the cache starts after its worker was replaced, and learns that it is outdated', async () => {
    deploy({ isPageKept: true });
    await tab.reload();
    await call(tab, 'start', { base });
    expect(await call(tab, 'status')).toMatchObject({ outdated: true, controlled: true });
    expect(await call(tab, 'updates')).toBe(1);
    expect(await write(tab, 'by a page that was kept')).toMatchObject({ status: 201 });
  });

  test('a page from the cache starts when its worker, in a folder of its version, no longer exists', async () => {
    let isThere = true;
    site.server.intercept(({ url = '' }, response) => {
      if (url === '/settee.js') {
        const script = readFileSync(join(built, 'settee.js'), 'utf8');
        response.setHeader('content-type', 'text/javascript');
        // As the Vite plugin has it in the script.
        response.end(`globalThis.__SETTEE_WORKER_FOLDER__ = 'of-this-version/';\n${script}`);
        return true;
      }
      if (!url.startsWith('/of-this-version/') || !isThere) return false;
      response.setHeader('content-type', 'text/javascript').end(readFileSync(join(built, basename(url))));
      return true;
    });
    await tab.reload();
    await call(tab, 'start', { base });
    expect(site.server.seen).toContain('/of-this-version/settee-worker.js');
    expect(await call(tab, 'status')).toMatchObject({ outdated: false });
    isThere = false;
    await tab.reload();
    await call(tab, 'start', { base });
    expect(await call(tab, 'status')).toMatchObject({ outdated: true });
    expect(await write(tab, 'by a page that was kept')).toMatchObject({ status: 201 });
    const alone = await site.open('control');
    const starting = call(alone, 'start', { base: '/other/', serviceWorker: false });
    await expect(starting).rejects.toThrow('The file is not there');
  });

  test("a page from the cache says why it can't start without a service worker", async () => {
    deploy({ isPageKept: true });
    const alone = await site.open('control');
    const starting = call(alone, 'start', { base: '/other/', serviceWorker: false });
    await expect(starting).rejects.toThrow(/This page uses protocol \d+, but its worker uses \d+; reload the page/);
  });
});
