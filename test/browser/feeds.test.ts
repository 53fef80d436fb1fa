import { describe, expect, test } from 'vitest';
import { pause, type Site, useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

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
  async function openTabs(): Promise<readonly [owner: Tab, follower: Tab]> {
    const site = await session.openSite();
    const owner = await startTab(site);
    expect(await call(owner, 'request', 'settee', 'PUT', '/db/notes')).toMatchObject({ status: 201 });
    const follower = await startTab(site);
    expect(await call(owner, 'role')).toBe('owner');
    return [owner, follower];
  }

  async function write(tab: Tab, id: string): Promise<void> {
    expect(await call(tab, 'request', 'settee', 'PUT', `/db/notes/${id}`, {})).toMatchObject({ status: 201 });
  }

  test.each<Way>(['settee', 'fetch'])('a continuous feed, by %s, tells what another page writes', async (way) => {
    const [owner, follower] = await openTabs();
    await write(owner, 'before');
    const feed = await call(follower, 'beginFeed', way, `${changes}?feed=continuous&heartbeat=1000`);
    const read = async () => (await call(follower, 'feed', feed)).lines.map(({ text }) => text).filter(Boolean);
    await expect.poll(read, { timeout: 10_000 }).toEqual([expect.stringContaining('"id":"before"')]);
    await write(owner, 'after');
    await expect.poll(async () => (await read()).length, { timeout: 10_000 }).toBe(2);
    await call(owner, 'request', 'settee', 'DELETE', '/db/notes');
    await expect.poll(async () => (await call(follower, 'feed', feed)).isOver, { timeout: 10_000 }).toBe(true);
    expect((await call(follower, 'feed', feed)).error).toBeUndefined();
    expect(await read()).toEqual([
      expect.stringContaining('"id":"before"'),
      expect.stringContaining('"id":"after"'),
      '{"last_seq":2,"pending":0}',
    ]);
  });

  test.each<Way>(['settee', 'fetch'])('a longpoll, by %s, is answered by the write of another page', async (way) => {
    const [owner, follower] = await openTabs();
    const answer = call(follower, 'request', way, 'GET', `${changes}?feed=longpoll&since=now`);
    await pause(200);
    await write(owner, 'a');
    expect(await answer).toMatchObject({ status: 200, json: { results: [{ seq: 1, id: 'a' }], last_seq: 1 } });
  });

  test('an event source goes on where it was when the page is gone that owned the storage', async () => {
    const [owner, follower] = await openTabs();
    await write(owner, 'earlier');
    const events = await call(follower, 'openEvents', `${changes}?feed=eventsource&since=now&heartbeat=1000`);
    const ids = async () =>
      (await call(follower, 'events', events)).data.map((text) => /"id":"([^"]*)"/.exec(text)?.[1]);
    await expect.poll(async () => (await call(follower, 'events', events)).isOpen, { timeout: 10_000 }).toBe(true);
    await write(owner, 'one');
    await expect.poll(ids, { timeout: 10_000 }).toEqual(['one']);
    await owner.close();
    // The event source is told that its body broke off, and waits some seconds before it connects again.
    for (const id of ['two', 'three']) await write(follower, id);
    await expect.poll(ids, { timeout: 30_000 }).toEqual(['one', 'two', 'three']);
  });
});
