import { describe, expect, test } from 'vitest';
import { type Site, useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** A base on another origin: the app's addresses are those of a server, and nothing needs to listen there. */
const ways: readonly Way[] = ['settee', 'fetch'];

describe.each(chosenEngines())('a base on another origin in %s', (engine) => {
  const session = useBrowserSession(engine);
  let site: Site;
  let tab: Tab;

  async function openControl(base: string): Promise<void> {
    site = await session.openSite();
    tab = await site.open('control');
    await call(tab, 'start', { base });
  }

  /** Writes and reads below the base; all but the simplest requests would be asked for first (CORS) if they went to a network. */
  async function use(base: string, way: Way): Promise<void> {
    const database = `${base}notes-${way}`;
    expect(await call(tab, 'request', way, 'GET', base)).toMatchObject({ status: 200 });
    expect(await call(tab, 'request', way, 'PUT', database)).toMatchObject({ status: 201, json: { ok: true } });
    expect(await call(tab, 'request', way, 'PUT', `${database}/doc`, { n: 1 })).toMatchObject({ status: 201 });
    expect(await call(tab, 'request', way, 'GET', `${database}/doc`, undefined, 'include')).toMatchObject({
      status: 200,
      json: { _id: 'doc', n: 1 },
    });
    expect(await call(tab, 'request', way, 'GET', `${database}/other`)).toMatchObject({
      status: 404,
      json: { error: 'not_found', reason: 'missing' },
    });
    expect((await call(tab, 'request', way, 'GET', `${database}/doc`)).headers).toContain('etag');
  }

  test.each(ways)('is answered by %s where no server listens, also when the page itself has no server', async (way) => {
    const base = 'https://db.example.com/';
    await openControl(base);
    await use(base, way);
    await site.server.close();
    expect(await call(tab, 'request', way, 'GET', `${base}notes-${way}/doc`)).toMatchObject({ status: 200 });
  });

  test('is answered instead of a server at that origin, which still gets requests outside of the base', async () => {
    const { server } = await session.openSite();
    const base = `${server.origin}/db/`;
    await openControl(base);
    for (const way of ways) await use(base, way);
    expect(server.seen).toEqual([]);
    // It allows no other origin, so that the page gets nothing; but it was asked.
    for (const way of ways) {
      await expect(call(tab, 'request', way, 'GET', `${server.origin}/${way}`)).rejects.toThrow();
    }
    expect(server.seen).toEqual(ways.map((way) => `/${way}`));
  });

  test('is shared by two tabs, and a relative base is another service', async () => {
    const base = 'https://db.example.com/';
    await openControl(base);
    expect(await call(tab, 'request', 'settee', 'PUT', `${base}shared`)).toMatchObject({ status: 201 });
    const other = await site.open('control');
    await call(other, 'start', { base: 'https://db.example.com' });
    expect(await call(other, 'role')).toBe('follower');
    for (const way of ways)
      expect(await call(other, 'request', way, 'GET', `${base}shared`)).toMatchObject({ status: 200 });
    const third = await site.open('control');
    await call(third, 'start', { base: '/db/', serviceWorker: false });
    expect(await call(third, 'request', 'settee', 'GET', '/db/shared')).toMatchObject({ status: 404 });
  });
});
