import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../src/node/server/server.ts';
import { arrayAt, at } from '../support/conformance/json.ts';
import { patient } from '../support/patience.ts';
import { type Site, useBrowserSession } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { type ProxiedServer, SERVER, startProxiedServer } from './proxied-server.ts';

const soon = { ...patient, interval: 20 };
const JSON_TYPE = { 'content-type': 'application/json', accept: 'application/json' };

/** Replications with the session of the page's user, and with tokens that pages provide (docs/browser.md#sync-with-a-server). */
describe.each(chosenEngines())('credentials of replications in %s', (engine) => {
  const session = useBrowserSession(engine);
  const closing: { close(): Promise<unknown> }[] = [];

  afterEach(async () => {
    for (const server of closing.splice(0)) await server.close();
  });

  async function openTab(site: Site): Promise<Tab> {
    const tab = await site.open('control');
    await call(tab, 'start', { base: '/db/' });
    return tab;
  }

  async function ask(tab: Tab, method: string, path: string, json?: unknown): Promise<unknown> {
    return (await call(tab, 'request', 'settee', method, path, json)).json;
  }

  /** The states of all replications, with what keeps them from going on. */
  async function jobs(tab: Tab): Promise<readonly unknown[]> {
    const list = arrayAt(await ask(tab, 'GET', '/db/_scheduler/jobs'), 'jobs');
    return list.map((job) => [at(job, 'state'), Object(at(job, 'info')).error]);
  }

  describe('the session of the user at a server of another origin', () => {
    async function startElsewhere(site: Site): Promise<RunningServer> {
      const server = await startServer({
        port: 0,
        memory: true,
        config: {
          httpd: { enable_cors: 'true' },
          cors: { origins: site.server.origin, credentials: 'true' },
          admins: { ada: 'secret' },
          svc_httpd_auth: { iterations: '100' },
        },
        onLog: () => {},
      });
      closing.push(server);
      return server;
    }

    /** By the page's own `fetch`. */
    async function login(tab: Tab, url: string, password: string | undefined): Promise<void> {
      const begun = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ name: 'ada', password }) };
      const init = { credentials: 'include', ...(password === undefined ? { method: 'DELETE' } : begun) };
      const ok = await tab.evaluate(`fetch('${url}_session', ${JSON.stringify(init)}).then(({ ok }) => ok)`);
      expect(ok).toBe(true);
    }

    test('is used if the replication says so, and awaited while there is none', async () => {
      const site = await session.openSite();
      const { url } = await startElsewhere(site);
      const basic = { ...JSON_TYPE, authorization: `Basic ${btoa('ada:secret')}` };
      await fetch(`${url}notes`, { method: 'PUT', headers: basic });
      const security = JSON.stringify({ members: { names: ['ada'], roles: [] } });
      await fetch(`${url}notes/_security`, { method: 'PUT', headers: basic, body: security });
      const tab = await openTab(site);
      await ask(tab, 'PUT', '/db/notes');
      await ask(tab, 'PUT', '/db/notes/first', { by: 'page' });
      await ask(tab, 'PUT', '/db/_replicator');
      const target = { url: `${url}notes`, auth: { session: true } };
      await ask(tab, 'PUT', '/db/_replicator/send', { source: 'notes', target, continuous: true });
      const error = `unauthorized: the user of this browser has no session at ${url.slice(0, -1)}, or it has ended. Log in there; the replication then goes on.`;
      await expect.poll(() => jobs(tab), soon).toEqual([['unauthorized', error]]);
      expect(await ask(tab, 'GET', '/db/_replicator/send')).toMatchObject({ _replication_state_reason: error });
      await login(tab, url, 'secret');
      // It goes on when a page is opened.
      const other = await openTab(site);
      const read = async (id: string) => (await fetch(`${url}notes/${id}`, { headers: basic })).json();
      await expect.poll(() => read('first'), soon).toMatchObject({ by: 'page' });
      await expect.poll(() => jobs(other), soon).toEqual([['running', undefined]]);
      // A replication that does not ask for it gets none of the cookies.
      const plain = await call(tab, 'request', 'settee', 'POST', '/db/_replicate', {
        ...{ source: `${url}notes`, target: 'notes' },
      });
      expect(plain).toMatchObject({ status: 500, json: { error: 'unauthorized' } });
    });

    test('is sent nowhere else by a redirect', async () => {
      const site = await session.openSite();
      const { url } = await startElsewhere(site);
      const tab = await openTab(site);
      await login(tab, url, 'secret');
      await ask(tab, 'PUT', '/db/notes');
      site.server.intercept((request, response) => {
        if (request.url?.startsWith('/moved/') === true) {
          response.writeHead(307, { location: `${url}notes` }).end();
          return true;
        }
        return false;
      });
      const source = { url: `${site.server.origin}/moved/notes`, auth: { session: true } };
      const body = { source, target: 'notes', retries_per_request: 0 };
      const answer = await call(tab, 'request', 'settee', 'POST', '/db/_replicate', body);
      expect(answer.status).toBe(500);
      expect(String(at(answer.json, 'reason'))).toContain("requests with the user's session don't follow");
    });
  });

  describe('a token that the app provides', () => {
    let server: ProxiedServer;
    /** The one that the server accepts, and a later one. */
    let valid = '';
    let nextValid = '';
    const accepted = new Set<unknown>();
    const refused: unknown[] = [];

    async function open(): Promise<{ site: Site; tab: Tab }> {
      const site = await session.openSite();
      server = await startProxiedServer(site);
      closing.push(server);
      valid = 'one';
      nextValid = '';
      accepted.clear();
      refused.length = 0;
      site.server.intercept(checkToken);
      await server.ask('PUT', '/notes');
      await server.ask('PUT', '/notes/first', { by: 'server' });
      const tab = await openTab(site);
      await ask(tab, 'PUT', '/db/notes');
      await ask(tab, 'PUT', '/db/_replicator');
      const source = { url: `${server.url}notes`, auth: { bearer: { provided: true } } };
      await ask(tab, 'PUT', '/db/_replicator/receive', { source, target: 'notes', continuous: true });
      return { site, tab };
    }

    function checkToken(request: IncomingMessage, response: ServerResponse): boolean {
      if (request.url?.startsWith(SERVER) !== true || request.method === 'OPTIONS') return false;
      const { authorization } = request.headers;
      if (authorization === `Bearer ${valid}` || authorization === `Bearer ${nextValid}`) {
        accepted.add(authorization);
        request.headers.authorization = undefined;
        delete request.headers.authorization;
        return false;
      }
      refused.push(authorization);
      response.writeHead(401, JSON_TYPE).end('{"error":"unauthorized","reason":"Please log in."}');
      return true;
    }

    const read = (tab: Tab, id: string) => ask(tab, 'GET', `/db/notes/${id}`);
    const error = () =>
      `unauthorized: no open page provides a bearer token for ${server.url}notes. Open the app and log in there; it calls settee.credentials().`;

    test('is awaited without a page that provides one, and used at once', async () => {
      const { site, tab } = await open();
      await expect.poll(() => jobs(tab), soon).toEqual([['unauthorized', error()]]);
      expect(refused).toEqual([]);
      expect(server.seen).toEqual([]);
      // By whichever page.
      const other = await openTab(site);
      await call(other, 'provideToken', server.url, 'one');
      await expect.poll(() => read(tab, 'first'), soon).toMatchObject({ by: 'server' });
      await expect.poll(() => jobs(tab), soon).toEqual([['running', undefined]]);
      expect(await call(other, 'tokenCalls')).toBeGreaterThan(0);
      expect(refused).toEqual([]);
    });

    test('is renewed after a 401, and asked for again by another tab that takes over', async () => {
      const { site, tab } = await open();
      const other = await openTab(site);
      await call(tab, 'provideToken', server.url, 'one');
      await expect.poll(() => read(tab, 'first'), soon).toMatchObject({ by: 'server' });
      valid = 'two';
      await call(tab, 'provideToken', server.url, 'two');
      await server.ask('PUT', '/notes/second', { by: 'server' });
      await expect.poll(() => read(tab, 'second'), soon).toMatchObject({ by: 'server' });
      expect(new Set(refused)).toEqual(new Set(['Bearer one']));
      expect(await jobs(tab)).toEqual([['running', undefined]]);
      expect(await call(other, 'tokenCalls')).toBe(0);

      await call(other, 'provideToken', server.url, 'two');
      await tab.close();
      await server.ask('PUT', '/notes/third', { by: 'server' });
      await expect.poll(() => read(other, 'third'), soon).toMatchObject({ by: 'server' });
      expect(await call(other, 'tokenCalls')).toBeGreaterThan(0);
      expect(new Set(refused)).toEqual(new Set(['Bearer one']));
    });

    describe('to the service worker, which has the storage while the worker of the only page does not start', () => {
      /** The page is from a cache, and its worker's file no longer exists. */
      async function openKeptPage(): Promise<Tab> {
        const { site, tab } = await open();
        const client = await (await fetch(`${site.server.origin}/settee.js`)).text();
        site.server.intercept(({ url }, response) => {
          if (url !== '/settee.js') return false;
          response.setHeader('content-type', 'text/javascript');
          // As the Vite plugin has it in the script.
          response.end(`globalThis.__SETTEE_WORKER_FOLDER__ = 'of-an-earlier-version/';\n${client}`);
          return true;
        });
        await tab.reload();
        await call(tab, 'start', { base: '/db/' });
        expect(await call(tab, 'status')).toMatchObject({ outdated: true, controlled: true });
        return tab;
      }

      test('is awaited, used, and renewed after a 401', async () => {
        const tab = await openKeptPage();
        await expect.poll(() => jobs(tab), soon).toEqual([['unauthorized', error()]]);
        expect(server.seen).toEqual([]);
        await call(tab, 'provideToken', server.url, 'one');
        await expect.poll(() => read(tab, 'first'), soon).toMatchObject({ by: 'server' });
        await expect.poll(() => jobs(tab), soon).toEqual([['running', undefined]]);
        expect(refused).toEqual([]);
        valid = 'two';
        await call(tab, 'provideToken', server.url, 'two');
        await server.ask('PUT', '/notes/second', { by: 'server' });
        await expect.poll(() => read(tab, 'second'), soon).toMatchObject({ by: 'server' });
        expect(await call(tab, 'tokenCalls')).toBeGreaterThan(1);
        expect(new Set(refused)).toEqual(new Set(['Bearer one']));
        expect(accepted).toEqual(new Set(['Bearer one', 'Bearer two']));
      });

      test('is renewed before it expires, and awaited when the page has none any more', async () => {
        const tab = await openKeptPage();
        nextValid = 'two';
        await call(tab, 'provideToken', server.url, 'one', 15_000);
        await expect.poll(() => read(tab, 'first'), soon).toMatchObject({ by: 'server' });
        await call(tab, 'provideToken', server.url, 'two');
        // Each change makes requests, for which the first token is used until it is due. The page's requests keep the service worker at work.
        let changes = 0;
        const change = async () => {
          await server.ask('PUT', `/notes/more-${++changes}`, {});
          await read(tab, 'first');
          return [...accepted];
        };
        await expect.poll(change, { ...patient, interval: 500 }).toEqual(['Bearer one', 'Bearer two']);
        await expect.poll(() => read(tab, `more-${changes}`), soon).toMatchObject({ _id: `more-${changes}` });
        expect(refused).toEqual([]);

        await call(tab, 'removeTokens');
        server.forget();
        await server.ask('PUT', '/notes/last', { by: 'server' });
        await expect.poll(() => jobs(tab), soon).toEqual([['unauthorized', error()]]);
        expect(await read(tab, 'last')).toMatchObject({ error: 'not_found' });
        await call(tab, 'provideToken', server.url, 'two');
        await expect.poll(() => read(tab, 'last'), soon).toMatchObject({ by: 'server' });
        expect(refused).toEqual([]);
      });
    });

    test('is no longer used after the user has logged out', async () => {
      const { tab } = await open();
      await call(tab, 'provideToken', server.url, 'one');
      await expect.poll(() => read(tab, 'first'), soon).toMatchObject({ by: 'server' });
      await call(tab, 'removeTokens');
      await ask(
        tab,
        'DELETE',
        `/db/_replicator/receive?rev=${at(await ask(tab, 'GET', '/db/_replicator/receive'), '_rev')}`,
      );
      server.forget();
      const source = { url: `${server.url}notes`, auth: { bearer: { provided: true } } };
      const answer = await call(tab, 'request', 'settee', 'POST', '/db/_replicate', { source, target: 'notes' });
      expect(answer).toMatchObject({ status: 500, json: { error: 'unauthorized' } });
      expect(server.seen).toEqual([]);
    });
  });
});
