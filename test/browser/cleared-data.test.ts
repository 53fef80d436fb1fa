import { beforeEach, describe, expect, test } from 'vitest';
import { patient } from '../support/patience.ts';
import { type Site, useBrowserSession } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

const base = '/db/';
const database = '/db/notes';

/** The browser clears all that the site has stored, as the user may ask for at any time, while pages of it are open. */
describe.each(chosenEngines())('clearing the data of the site in %s', (engine) => {
  const session = useBrowserSession(engine);
  let site: Site;
  let owner: Tab;
  let other: Tab;

  beforeEach(async () => {
    site = await session.openSite();
    site.server.intercept(({ url }, response) => {
      if (url !== '/clear') return false;
      response.writeHead(200, { 'clear-site-data': '"storage"', 'content-type': 'text/plain' });
      response.end('cleared');
      return true;
    });
    owner = await open();
    other = await open();
    expect((await call(owner, 'request', 'settee', 'PUT', database)).status).toBe(201);
    // Enough that the journal is in files where the browser has such.
    expect(await call(owner, 'writeMany', 'settee', database, 'before', 30, 1)).toBe(30);
  });

  async function open(): Promise<Tab> {
    const tab = await site.open('control');
    await call(tab, 'start', { base });
    return tab;
  }

  /** From a page that is left alone: in some browsers the page that asks for it waits for the answer until all is cleared. */
  async function clear(): Promise<void> {
    const tab = await site.open('empty');
    await tab.evaluate("fetch('/clear').then((answer) => answer.text())");
  }

  const statusOf = async (tab: Tab, way: 'settee' | 'fetch', method: string, path: string, json?: unknown) =>
    (await call(tab, 'request', way, method, path, json)).status;

  test('both open tabs continue with one empty storage, and a tab opened later shares it', async () => {
    await clear();
    await expect.poll(() => statusOf(owner, 'settee', 'GET', database), patient).toBe(404);
    await expect.poll(() => statusOf(other, 'settee', 'GET', database), patient).toBe(404);
    expect(await statusOf(owner, 'settee', 'PUT', database)).toBe(201);
    expect(await statusOf(other, 'settee', 'PUT', `${database}/by-other`, {})).toBe(201);
    expect(await statusOf(owner, 'settee', 'PUT', `${database}/by-owner`, {})).toBe(201);
    const later = await open();
    expect(await statusOf(later, 'settee', 'PUT', `${database}/later`, {})).toBe(201);
    for (const tab of [owner, other, later]) {
      expect(await call(tab, 'ids', 'settee', database)).toEqual(['by-other', 'by-owner', 'later']);
    }
    const roles = [await call(owner, 'role'), await call(other, 'role'), await call(later, 'role')];
    expect(roles.toSorted()).toEqual(['follower', 'follower', 'owner']);
  });

  test('plain fetch reaches the empty storage as soon as a service worker is registered again', async () => {
    await clear();
    for (const tab of [owner, other]) {
      const answered = async () => (await call(tab, 'request', 'fetch', 'GET', base)).json;
      await expect.poll(answered, patient).toMatchObject({ vendor: { name: expect.any(String) } });
    }
    expect(await statusOf(owner, 'fetch', 'GET', database)).toBe(404);
    expect(await statusOf(owner, 'fetch', 'PUT', database)).toBe(201);
    expect(await statusOf(other, 'settee', 'GET', database)).toBe(200);
    expect(await call(owner, 'status')).toMatchObject({ controlled: true });
  });

  test('open feeds end with an error, and a write in progress is answered', async () => {
    const feeds = [owner, other];
    const numbers: number[] = [];
    for (const tab of feeds) {
      numbers.push(await call(tab, 'beginFeed', 'settee', `${database}/_changes?feed=continuous&since=now`));
    }
    await call(other, 'beginWork', { way: 'settee', database, prefix: 'work' });
    await clear();
    for (const [index, tab] of feeds.entries()) {
      const ended = async () => (await call(tab, 'feed', numbers[index] ?? 0)).error !== undefined;
      await expect.poll(ended, patient).toBe(true);
    }
    const { refused } = await call(other, 'endWork');
    expect(refused.length).toBeGreaterThan(0);
  });
});
