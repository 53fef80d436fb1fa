import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../src/node/server/server.ts';
import { type Site, useBrowserSession } from './browser-session.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

const SCRIPT = 'globalThis.ran = true;';
const SHOW = `function () { return { body: '${SCRIPT}', headers: { 'Content-Type': 'text/javascript' } }; }`;
const PIXEL = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

/** A page on another port of the server's host, which browsers call the same site (docs/http/answers.md#sandboxed-answers). */
describe.each(chosenEngines())('what users stored, from a page on another port, in %s', (engine) => {
  const session = useBrowserSession(engine);
  let server: RunningServer;
  let site: Site;
  /** Of the database, by the name of the host that the page has. */
  let database: string;

  async function put(path: string, type: string, body: string | Uint8Array<ArrayBuffer>): Promise<void> {
    const answer = await fetch(`${server.url}${path}`, { method: 'PUT', headers: { 'content-type': type }, body });
    expect(answer.status, await answer.text()).toBe(201);
  }

  beforeEach(async () => {
    site = await session.openSite();
    const config = { httpd: { enable_cors: 'true' }, cors: { origins: site.server.origin } };
    server = await startServer({ port: 0, memory: true, config, onLog: () => {} });
    database = `http://${new URL(site.server.origin).hostname}:${new URL(server.url).port}/db`;
    await put('db', 'application/json', '');
    await put('db/script/a.js', 'text/javascript', SCRIPT);
    await put('db/style/a.css', 'text/css', 'body { color: rgb(1, 2, 3) }');
    await put(
      'db/image/a.gif',
      'image/gif',
      Uint8Array.from(atob(PIXEL), (character) => character.charCodeAt(0)),
    );
    await put('db/_design/d', 'application/json', JSON.stringify({ shows: { script: SHOW } }));
  });

  afterEach(async () => {
    await server.close();
  });

  /** Puts an element into the page: whether it is loaded, and what came of it. */
  function load(tab: Tab, name: string, members: Readonly<Record<string, string>>): Promise<unknown> {
    return tab.evaluate(`new Promise((resolve) => {
      delete globalThis.ran;
      const element = Object.assign(document.createElement('${name}'), ${JSON.stringify(members)});
      const told = (is) => resolve([is, globalThis.ran === true, getComputedStyle(document.body).color]);
      element.onload = () => told('loaded');
      element.onerror = () => told('refused');
      document.body.append(element);
    })`);
  }

  test('runs no scripts, applies no styles, and shows images', async () => {
    const tab = await site.open('empty');
    const [, , color] = Object(await load(tab, 'img', { src: `${database}/image/a.gif` }));
    for (const path of ['script/a.js', '_design/d/_show/script', 'script/a.js?x=1']) {
      expect(await load(tab, 'script', { src: `${database}/${path}` }), path).toEqual(['refused', false, color]);
    }
    const style = { rel: 'stylesheet', href: `${database}/style/a.css` };
    expect(await load(tab, 'link', style)).toEqual(['refused', false, color]);
    expect(await load(tab, 'img', { src: `${database}/image/a.gif?x=1` })).toEqual(['loaded', false, color]);
  });

  test('can be read by a page of an origin that CORS lists', async () => {
    const tab = await site.open('empty');
    const asked = { crossOrigin: 'anonymous', src: `${database}/script/a.js` };
    expect(await load(tab, 'script', asked)).toEqual(['loaded', true, expect.any(String)]);
  });

  test('runs in a page of the same origin', async () => {
    const tab = await site.open('empty');
    await tab.navigate(`${database}/_all_docs`);
    expect(await load(tab, 'script', { src: `${database}/script/a.js` })).toEqual(['loaded', true, expect.any(String)]);
  });
});
