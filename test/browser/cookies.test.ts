import { describe, expect, test } from 'vitest';
import { type Site, useBrowserSession } from './browser-session.ts';
import { type Credentials, call, type Way } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** The session's cookies, which no page and no service worker sees: a design document's functions set one, and show which they get. */
const base = '/db/';
const database = '/db/notes';
const tell = `${database}/_design/cookies/_show/tell`;
const set = `${database}/_design/cookies/_show/set`;
const ways: readonly Way[] = ['settee', 'fetch'];

const shows = {
  tell: 'function (doc, req) { return {json: req.cookie}; }',
  set: `function (doc, req) {
    return {json: req.cookie, headers: {'Set-Cookie': 'made-up=' + req.query.value + '; Path=/db/; HttpOnly'}};
  }`,
};

describe.each(chosenEngines())('cookies in %s', (engine) => {
  const session = useBrowserSession(engine);
  let site: Site;
  let first: Tab;
  let second: Tab;

  async function openTabs(): Promise<void> {
    site = await session.openSite();
    [first, second] = [await site.open('control'), await site.open('control')];
    for (const tab of [first, second]) await call(tab, 'start', { base });
    expect((await call(first, 'request', 'settee', 'PUT', database)).status).toBe(201);
    const stored = await call(first, 'request', 'settee', 'PUT', `${database}/_design/cookies`, { shows });
    expect(stored.status).toBe(201);
  }

  async function cookies(tab: Tab, way: Way, credentials?: Credentials): Promise<unknown> {
    const answer = await call(tab, 'request', way, 'GET', tell, undefined, credentials);
    expect(answer.status).toBe(200);
    return answer.json;
  }

  test.each(ways)("a cookie set by %s is sent by every transport and tab, and scripts can't read it", async (way) => {
    await openTabs();
    const answer = await call(second, 'request', way, 'GET', `${set}?value=1`);
    expect(answer).toMatchObject({ status: 200, json: {} });
    expect(answer.headers).not.toContain('set-cookie');
    for (const tab of [first, second]) {
      for (const each of ways) expect(await cookies(tab, each)).toEqual({ 'made-up': '1' });
      expect(await tab.evaluate('document.cookie')).toBe('');
    }
  });

  test.each(ways)('requests by %s without credentials send no cookie, and store none', async (way) => {
    await openTabs();
    const omitted = await call(first, 'request', way, 'GET', `${set}?value=1`, undefined, 'omit');
    expect(omitted.status).toBe(200);
    expect(await cookies(first, way)).toEqual({});
    await call(first, 'request', way, 'GET', `${set}?value=2`);
    expect(await cookies(first, way, 'omit')).toEqual({});
    expect(await cookies(first, way, 'include')).toEqual({ 'made-up': '2' });
  });

  test('cookies outlive the tab that stored them, and outlive all tabs while the service worker runs', async () => {
    await openTabs();
    await call(first, 'request', 'settee', 'GET', `${set}?value=kept`);
    expect(await call(first, 'role')).toBe('owner');
    await first.close();
    expect(await cookies(second, 'settee')).toEqual({ 'made-up': 'kept' });
    expect(await call(second, 'role')).toBe('owner');
    await call(second, 'close');
    expect(await cookies(second, 'fetch')).toEqual({ 'made-up': 'kept' });
    const third = await site.open('control');
    await call(third, 'start', { base });
    expect(await cookies(third, 'settee')).toEqual({ 'made-up': 'kept' });
  });
});
