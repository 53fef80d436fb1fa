import { afterEach, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../src/node/server/server.ts';
import { useBrowserSession } from './browser-session.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** A page asks a Node server at another origin, as whoever is logged in there. What it may, the server says (docs/http/requests.md#cors). */
describe.each(chosenEngines())('a page of another origin in %s', (engine) => {
  const session = useBrowserSession(engine);
  const servers: RunningServer[] = [];

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  async function start(origins: string): Promise<RunningServer> {
    const config = {
      httpd: { enable_cors: 'true' },
      cors: { origins, credentials: 'true' },
      admins: { ada: 'secret' },
      svc_httpd_auth: { iterations: '100' },
    };
    const server = await startServer({ port: 0, memory: true, config, onLog: () => {} });
    servers.push(server);
    return server;
  }

  /** What the page's `fetch` gives: status, JSON and `ETag`; or the name of the error with which it refuses. */
  function ask(tab: Tab, url: string, init: unknown = {}): Promise<unknown> {
    return tab.evaluate(`fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(
      async (answer) => ({ status: answer.status, json: await answer.json(), etag: answer.headers.get('etag') }),
      (error) => error.name,
    )`);
  }

  test('logs in, reads and writes with its cookie if CORS lists the origin', async () => {
    const site = await session.openSite();
    const tab = await site.open('empty');
    const { url } = await start(site.server.origin);
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const login = { method: 'POST', headers, credentials: 'include', body: '{"name":"ada","password":"secret"}' };
    expect(await ask(tab, `${url}_session`, login)).toMatchObject({ status: 200, json: { ok: true, name: 'ada' } });

    const put = (path: string, more = {}) =>
      ask(tab, `${url}${path}`, { method: 'PUT', credentials: 'include', headers, ...more });
    expect(await put('notes')).toMatchObject({ status: 201, json: { ok: true } });
    expect(await put('notes/doc', { body: '{"n":1}' })).toMatchObject({ status: 201 });
    const read = await ask(tab, `${url}notes/doc`, { credentials: 'include' });
    expect(read).toMatchObject({ status: 200, json: { _id: 'doc', n: 1 }, etag: expect.stringMatching(/^"1-/) });
    expect(await put('notes/doc', { body: '{}' })).toMatchObject({ status: 409, json: { error: 'conflict' } });

    // Without its cookie it is nobody, and is told so.
    expect(await ask(tab, `${url}_active_tasks`)).toMatchObject({ status: 401, json: { error: 'unauthorized' } });
    const basic = { headers: { ...headers, authorization: `Basic ${btoa('ada:secret')}` } };
    expect(await ask(tab, `${url}_active_tasks`, basic)).toMatchObject({ status: 200, json: [] });
  });

  test("can't read or write anything if CORS doesn't list the origin", async () => {
    const site = await session.openSite();
    const other = await session.openSite();
    const { url } = await start(site.server.origin);
    const tab = await other.open('empty');
    const basic = { authorization: `Basic ${btoa('ada:secret')}` };
    expect(await ask(tab, url)).toBe('TypeError');
    expect(await ask(tab, `${url}notes`, { method: 'PUT', headers: basic })).toBe('TypeError');
    expect(await (await fetch(`${url}_all_dbs`, { headers: basic })).json()).not.toContain('notes');
  });
});
