import { describe, expect, test } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import { patient } from '../support/patience.ts';
import { pause, type Site, useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { replaceServiceWorker } from './newer-service-worker.ts';

/** Feeds of changes between pages: they are told what others write, and miss nothing when the page that owns the storage goes. */
const changes = '/db/notes/_changes';

describe.each(chosenEngines())('feeds in %s', (engine) => {
  const session = useBrowserSession(engine);

  async function startTab(site: Site): Promise<Tab> {
    const tab = await site.open('control');
    await call(tab, 'start', { base: '/db/' });
    return tab;
  }

  /** A page that owns the storage, with a database, and one that follows it. */
  async function openTabs(site?: Site): Promise<readonly [owner: Tab, follower: Tab]> {
    site ??= await session.openSite();
    const owner = await startTab(site);
    expect(await call(owner, 'request', 'settee', 'PUT', '/db/notes')).toMatchObject({ status: 201 });
    const follower = await startTab(site);
    expect(await call(owner, 'role')).toBe('owner');
    return [owner, follower];
  }

  async function write(tab: Tab, id: string): Promise<void> {
    expect(await call(tab, 'request', 'settee', 'PUT', `/db/notes/${id}`, {})).toMatchObject({ status: 201 });
  }

  test.each<Way>(['settee', 'fetch'])('a continuous feed, by %s, reports what another page writes', async (way) => {
    const [owner, follower] = await openTabs();
    await write(owner, 'before');
    const feed = await call(follower, 'beginFeed', way, `${changes}?feed=continuous&heartbeat=1000`);
    const read = async () => (await call(follower, 'feed', feed)).lines.map(({ text }) => text).filter(Boolean);
    await expect.poll(read, patient).toEqual([expect.stringContaining('"id":"before"')]);
    await write(owner, 'after');
    await expect.poll(async () => (await read()).length, patient).toBe(2);
    await call(owner, 'request', 'settee', 'DELETE', '/db/notes');
    await expect.poll(async () => (await call(follower, 'feed', feed)).isOver, patient).toBe(true);
    expect((await call(follower, 'feed', feed)).error).toBeUndefined();
    expect(await read()).toEqual([
      expect.stringContaining('"id":"before"'),
      expect.stringContaining('"id":"after"'),
      '{"last_seq":2,"pending":0}',
    ]);
  });

  test.each<Way>(['settee', 'fetch'])(
    'a longpoll request, by %s, is answered when another page writes',
    async (way) => {
      const [owner, follower] = await openTabs();
      const answer = call(follower, 'request', way, 'GET', `${changes}?feed=longpoll&since=0`);
      // Usually it comes first, and waits. Where the write does, the answer is the same.
      await pause(200);
      await write(owner, 'a');
      expect(await answer).toMatchObject({ status: 200, json: { results: [{ seq: 1, id: 'a' }], last_seq: 1 } });
    },
  );

  test('an EventSource continues at its position when the page that owned the storage is closed', async () => {
    const [owner, follower] = await openTabs();
    await write(owner, 'earlier');
    const events = await call(follower, 'openEvents', `${changes}?feed=eventsource&since=now&heartbeat=1000`);
    const ids = async () =>
      (await call(follower, 'events', events)).data.map((text) => /"id":"([^"]*)"/.exec(text)?.[1]);
    await expect.poll(async () => (await call(follower, 'events', events)).isOpen, patient).toBe(true);
    await write(owner, 'one');
    await expect.poll(ids, patient).toEqual(['one']);
    await owner.close();
    // The event source is told that its body broke off, and waits some seconds before it connects again.
    for (const id of ['two', 'three']) await write(follower, id);
    await expect.poll(ids, patient).toEqual(['one', 'two', 'three']);
  });

  test('PouchDB in a page follows changes through the service worker, and either continues or gets an error when the owner is closed', async () => {
    const site = await session.openSite();
    const owner = await startTab(site);
    await call(owner, 'request', 'settee', 'PUT', '/db/notes');
    await write(owner, 'earlier');
    const page = await site.open('pouchdb-feed');
    await page.evaluate('pouch.open("/db/", "notes")');
    await page.evaluate('pouch.follow(0)');
    const seen = async () => JSON.parse(String(await page.evaluate('JSON.stringify(pouch.seen())')));
    const ids = async () => (await seen()).ids;
    await expect.poll(ids, patient).toEqual(['earlier']);
    await write(owner, 'other');
    await expect.poll(ids, patient).toEqual(['earlier', 'other']);
    expect(await page.evaluate('pouch.put("own")')).toMatch(/^1-/);
    await expect.poll(ids, patient).toEqual(['earlier', 'other', 'own']);
    await owner.close();
    expect(await page.evaluate('pouch.put("after")')).toMatch(/^1-/);
    const goesOn = async () => {
      const { ids: told, error } = await seen();
      return error !== undefined || told.includes('after');
    };
    await expect.poll(goesOn, patient).toBe(true);
    // PouchDB leaves it to its user to begin again after an error.
    if ((await seen()).error !== undefined) await page.evaluate('pouch.follow(3)');
    await expect.poll(ids, patient).toEqual(['earlier', 'other', 'own', 'after']);
  });

  test.each(['at rest', 'while it writes'])(
    'a new service worker replaces one with open feeds of a database %s: no feed ends early without an error',
    async (how) => {
      const site = await session.openSite();
      const [owner, follower] = await openTabs(site);
      await write(owner, 'earlier');
      const events = await call(follower, 'openEvents', `${changes}?feed=eventsource&since=now&heartbeat=1000`);
      const told = async (number = events) =>
        (await call(follower, 'events', number)).data.map((text) => /"id":"([^"]*)"/.exec(text)?.[1]);
      await expect.poll(async () => (await call(follower, 'events', events)).isOpen, patient).toBe(true);
      const stream = await call(follower, 'beginFeed', 'fetch', `${changes}?feed=continuous&since=now&heartbeat=1000`);
      // Nothing that it follows is ever written.
      const nothing = `${changes}?feed=longpoll&since=now&heartbeat=1000&filter=_doc_ids&doc_ids=["none"]`;
      const poll = await call(follower, 'beginFeed', 'fetch', nothing);
      const lines = async (feed: number) =>
        (await call(follower, 'feed', feed)).lines.map(({ text }) => text).filter(Boolean);
      await write(owner, 'before');
      await expect.poll(told, patient).toEqual(['before']);
      // This one is told of nothing before its service worker goes.
      const quiet = await call(follower, 'openEvents', `${changes}?feed=eventsource&since=now&heartbeat=2000`);
      await expect.poll(async () => (await call(follower, 'events', quiet)).isOpen, patient).toBe(true);
      await expect.poll(async () => (await lines(stream)).length, patient).toBe(1);

      await replaceServiceWorker(site.server);
      const update = call(follower, 'update');
      const written = ['before'];
      let isOver = false;
      const over = update.finally(() => {
        isOver = true;
      });
      while (how === 'while it writes' && !isOver) {
        written.push(`during-${`${written.length}`.padStart(4, '0')}`);
        await write(owner, must(written.at(-1), 'what was written'));
      }
      expect(await over).toBe(true);
      expect(await follower.evaluate('caches.has("newer version")')).toBe(true);
      for (const feed of [stream, poll]) {
        await expect.poll(async () => (await call(follower, 'feed', feed)).isOver, patient).toBe(true);
        expect((await call(follower, 'feed', feed)).error).toMatch(/Error/);
      }
      // What came of the stream is all up to somewhere, and none of it twice.
      const came = (await lines(stream)).map((text) => /"id":"([^"]*)"/.exec(text)?.[1]);
      expect(came).toEqual(written.slice(0, came.length));
      // Those that are open again through the new one.
      const again = await call(follower, 'beginFeed', 'fetch', `${changes}?feed=continuous&since=1&heartbeat=1000`);
      for (const id of ['after', 'last']) {
        written.push(id);
        await write(owner, id);
      }
      await expect.poll(told, patient).toEqual(written);
      await expect.poll(() => told(quiet), patient).toEqual(written.slice(1));
      await expect.poll(async () => (await lines(again)).length, patient).toBe(written.length);
    },
  );
});
