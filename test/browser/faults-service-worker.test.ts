import { describe, expect, test } from 'vitest';
import { roundsOf } from '../support/long-runs.ts';
import { patient } from '../support/patience.ts';
import { pause, type Site, useBrowserSession } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { replaceServiceWorker } from './newer-service-worker.ts';

/** What happens to requests while the service worker stops, changes, or is passed by. */
const base = '/db/';
const database = '/db/notes';

/** Beyond what any engine buffers between a service worker and a page that does not read. */
const largeBody = { documents: 100, bytes: 1_000_000 };

describe.each(chosenEngines())('the service worker in %s', (engine) => {
  const session = useBrowserSession(engine);
  let site: Site;
  let tab: Tab;

  /** Returns how long the start took. */
  async function openControl(): Promise<number> {
    site = await session.openSite();
    tab = await site.open('control');
    const startMs = await call(tab, 'start', { base, settings: { svc: { max_document_size: '200000000' } } });
    expect((await call(tab, 'request', 'fetch', 'PUT', database)).status).toBe(201);
    return startMs;
  }

  async function writeLarge(): Promise<void> {
    const { documents, bytes } = largeBody;
    expect(await call(tab, 'sendLarge', 'settee', database, documents, bytes)).toBe(201);
  }

  test('still answers after the browser stopped it between requests', async ({ skip }) => {
    const { stopServiceWorkers } = session.browser.can;
    if (stopServiceWorkers !== true) skip(stopServiceWorkers);
    await openControl();
    for (let round = 0; round < 3; round += 1) {
      await session.browser.stopServiceWorkers(site.server.origin);
      expect(await call(tab, 'request', 'fetch', 'PUT', `${database}/doc-${round}`, {})).toMatchObject({ status: 201 });
      expect(await call(tab, 'request', 'fetch', 'GET', `${database}/doc-${round}`)).toMatchObject({ status: 200 });
    }
  });

  test('carries out no write twice when it is stopped in the middle of writes', async ({ skip }) => {
    const { stopServiceWorkers } = session.browser.can;
    if (stopServiceWorkers !== true) skip(stopServiceWorkers);
    await openControl();
    await tab.evaluate(`void (globalThis.writes = ${writeUntilStopped.toString()}('${database}'))`);
    for (let stops = 0; stops < roundsOf(8, 20); stops += 1) {
      const before = Number(await tab.evaluate('globalThis.written'));
      await expect
        .poll(async () => Number(await tab.evaluate('globalThis.written')), patient)
        .toBeGreaterThan(before + 10);
      await session.browser.stopServiceWorkers(site.server.origin);
    }
    await tab.evaluate('globalThis.isStopped = true');
    const { put, posted } = (await tab.evaluate('globalThis.writes')) as Awaited<ReturnType<typeof writeUntilStopped>>;
    expect(Object.keys(put)).toEqual(['201']);
    expect(Object.keys(posted)).toEqual(['201']);
    const { json } = await call(tab, 'request', 'fetch', 'GET', database);
    expect(json).toMatchObject({ doc_count: (put['201'] ?? 0) + (posted['201'] ?? 0) });
  });

  test('stopped in the middle of a body, leaves its reader with an error or the whole body', async ({ skip }) => {
    const { stopServiceWorkers } = session.browser.can;
    if (stopServiceWorkers !== true) skip(stopServiceWorkers);
    await openControl();
    await writeLarge();
    await call(tab, 'holdBody', 'fetch', `${database}/_all_docs?include_docs=true`);
    await session.browser.stopServiceWorkers(site.server.origin);
    assertNotCut(await call(tab, 'drainHeldBody'));
    // What it leaves behind harms nobody.
    expect(await call(tab, 'request', 'fetch', 'GET', database)).toMatchObject({ status: 200 });
  });

  test('stopped in the middle of an idle feed, leaves its reader with an error', async ({ skip }) => {
    const { stopServiceWorkers } = session.browser.can;
    if (stopServiceWorkers !== true) skip(stopServiceWorkers);
    await openFeed();
    await session.browser.stopServiceWorkers(site.server.origin);
    await expectBroken();
  });

  test('answers again after its process was killed, with at most one error', async ({ skip }) => {
    if (session.browser.can.kill !== true) skip(session.browser.can.kill);
    await openControl();
    const other = await site.open('control');
    await call(other, 'start', { base });
    const id = await tab.process();
    if (id === (await other.process())) skip('both tabs run in one process');
    process.kill(id, 'SIGKILL');
    const giveUpAt = Date.now() + patient.timeout;
    let answer: unknown;
    while (answer === undefined && Date.now() < giveUpAt) {
      answer = await call(other, 'request', 'fetch', 'GET', database).catch(() => undefined);
    }
    expect(answer).toMatchObject({ status: 200 });
  });

  test("is replaced by a new version while a body is open, which isn't cut off silently", async () => {
    await openControl();
    await writeLarge();
    await call(tab, 'beginSlowRead', 'fetch', `${database}/_all_docs?include_docs=true`, 10 * largeBody.bytes);
    await replaceServiceWorker(site.server);
    expect(await call(tab, 'update')).toBe(true);
    assertNotCut(await call(tab, 'endSlowRead'));
    expect(await call(tab, 'request', 'fetch', 'PUT', `${database}/after`, {})).toMatchObject({ status: 201 });
    expect(await tab.evaluate('caches.has("newer version")')).toBe(true);
  });

  test('is replaced by a new version while a feed is open, which ends with an error', async () => {
    await openFeed();
    await replaceServiceWorker(site.server);
    expect(await call(tab, 'update')).toBe(true);
    await expectBroken();
    expect(await call(tab, 'request', 'fetch', 'GET', database)).toMatchObject({ status: 200 });
  });

  test("isn't installed without the script of its core, and start reports that", async () => {
    site = await session.openSite();
    site.server.intercept((request, response) => {
      if (request.url?.startsWith('/settee-sw-core.js') !== true) return false;
      response.writeHead(404).end();
      return true;
    });
    tab = await site.open('control');
    await expect(call(tab, 'start', { base })).rejects.toThrow('settee-sw-core.js must be in the same folder');
  });

  test("fails earlier than the page's worker, and start reports the reason that the worker knows", async () => {
    site = await session.openSite();
    site.server.intercept((request, response) => {
      if (request.url !== '/settee-worker.js') return false;
      setTimeout(() => response.writeHead(307, { location: '/settee-worker.js?late' }).end(), 500);
      return true;
    });
    tab = await site.open('control');
    await expect(call(tab, 'start', { base: '/' })).rejects.toThrow("the site's own files are below it");
  });

  test("survives a new version that can't be installed", async () => {
    await openFeed();
    await replaceServiceWorker(site.server);
    site.server.intercept((request, response) => {
      if (request.url?.startsWith('/settee-sw-core.js') !== true) return false;
      response.writeHead(404).end();
      return true;
    });
    expect(await call(tab, 'update')).toBe(false);
    await pause(1000);
    expect(await call(tab, 'feed', 0)).toMatchObject({ isOver: false });
  });

  test('is reported as waiting to be updated, once and again after a reload, until the new version takes over', async () => {
    await openControl();
    await replaceServiceWorker(site.server);
    await call(tab, 'lookForUpdate');
    await expect.poll(() => call(tab, 'updates'), patient).toBe(1);
    expect(await call(tab, 'isUpdateWaiting')).toBe(true);
    // Another page keeps the old one in place while this one is loaded again.
    const other = await site.open('control');
    await call(other, 'start', { base });
    await expect.poll(() => call(other, 'updates'), patient).toBe(1);
    await tab.reload();
    await call(tab, 'start', { base });
    await expect.poll(() => call(tab, 'updates'), patient).toBe(1);
    expect(await tab.evaluate('caches.has("newer version")')).toBe(true);
    expect(await call(tab, 'update')).toBe(true);
    expect(await call(tab, 'isUpdateWaiting')).toBe(false);
    expect(await call(other, 'updates')).toBe(1);
    expect(await call(other, 'request', 'fetch', 'GET', database)).toMatchObject({ status: 200 });
  });

  test('lets a page that it controls start while the browser still looks for a new version', async () => {
    await openControl();
    let asked = 0;
    site.server.intercept((request) => {
      if (request.url?.startsWith('/settee-sw.js') !== true) return false;
      // Never answered: the connection ends with the test.
      asked += 1;
      return true;
    });
    await tab.evaluate('void navigator.serviceWorker.ready.then((registration) => registration.update())');
    await expect.poll(() => asked, patient).toBe(1);
    const other = await site.open('control');
    await call(other, 'start', { base });
    expect(await call(other, 'isControlled')).toBe(true);
    expect(await call(other, 'request', 'fetch', 'GET', database)).toMatchObject({ status: 200 });
  });

  test("isn't changed by update() if there is no newer version", async () => {
    await openControl();
    expect(await call(tab, 'update')).toBe(false);
    expect(await call(tab, 'updates')).toBe(0);
    expect(await call(tab, 'request', 'fetch', 'GET', database)).toMatchObject({ status: 200 });
  });

  test('controls the page again after a hard reload', async ({ skip }) => {
    const { hardReload } = session.browser.can;
    if (hardReload !== true) skip(hardReload);
    await openControl();
    await tab.reload('hard');
    expect(await call(tab, 'isControlled')).toBe(false);
    await call(tab, 'start', { base });
    expect(await call(tab, 'isControlled')).toBe(true);
    expect(await call(tab, 'request', 'fetch', 'GET', database)).toMatchObject({ status: 200 });
  });

  test('answers a page that never called start()', async () => {
    await openControl();
    const other = await site.open('control');
    expect(await call(other, 'request', 'fetch', 'GET', database)).toMatchObject({ status: 200 });
  });

  test("answers when no page's worker is left, and gives the storage up to the next worker", async () => {
    const firstMs = await openControl();
    await call(tab, 'request', 'fetch', 'PUT', `${database}/kept`, { n: 1 });
    await call(tab, 'close');
    expect(await call(tab, 'request', 'fetch', 'GET', `${database}/kept`)).toMatchObject({
      status: 200,
      json: { n: 1 },
    });
    expect(await call(tab, 'request', 'fetch', 'PUT', `${database}/alone`, { n: 2 })).toMatchObject({ status: 201 });
    const other = await site.open('control');
    // It waits for no deadline: those are longer, and a busy machine was slow the first time, too.
    expect(await call(other, 'start', { base })).toBeLessThan(5000 + 10 * firstMs);
    expect(await call(other, 'role')).toBe('owner');
    expect(await call(other, 'request', 'settee', 'GET', `${database}/alone`)).toMatchObject({
      status: 200,
      json: { n: 2 },
    });
  });

  test("answers with its own settings when no page's worker is left", async () => {
    site = await session.openSite();
    tab = await site.open('control');
    const settings = { svc: { max_document_size: '100' } };
    const query = new URLSearchParams({ base, settings: JSON.stringify(settings) });
    await call(tab, 'start', { base, serviceWorker: `/settee-sw.js?${query}` });
    await call(tab, 'request', 'fetch', 'PUT', database);
    const text = 'x'.repeat(200);
    expect(await call(tab, 'request', 'fetch', 'PUT', `${database}/doc`, { text })).toMatchObject({ status: 201 });
    await call(tab, 'close');
    expect(await call(tab, 'request', 'fetch', 'PUT', `${database}/other`, { text })).toMatchObject({ status: 413 });
  });

  test('serves several bases, each started by another tab, and keeps their data apart', async () => {
    site = await session.openSite();
    const bases = [base, '/data/'];
    const serviceWorker = `/settee-sw.js?${new URLSearchParams(bases.map((one): [string, string] => ['base', one]))}`;
    const tabs: Tab[] = [];
    for (const one of bases) {
      const opened = await site.open('control');
      await call(opened, 'start', { base: one, serviceWorker });
      await call(opened, 'request', 'settee', 'PUT', `${one}notes`);
      await call(opened, 'request', 'fetch', 'PUT', `${one}notes/doc`, { text: one });
      tabs.push(opened);
    }
    for (const opened of tabs) {
      for (const one of bases) {
        expect(await call(opened, 'request', 'fetch', 'GET', `${one}notes/doc`)).toMatchObject({ json: { text: one } });
      }
    }
  });

  test('answers a link that is opened when no page is open', async () => {
    await openControl();
    await call(tab, 'request', 'fetch', 'PUT', `${database}/kept`, { text: 'kept' });
    await tab.close();
    const seenBefore = site.server.seen.length;
    const document = await session.browser.open(`${site.server.origin}${database}/kept`);
    const shown = await document.evaluate('document.body.innerText');
    await document.close();
    expect(shown).toContain('"text":"kept"');
    const asked = site.server.seen.slice(seenBefore).filter((path) => path.startsWith(base));
    // WebKit was seen to ask the server as well, for this page alone, though the service worker answered it.
    const own = engine === 'webkit' ? [`${database}/kept`] : [];
    expect(asked.filter((path) => !own.includes(path))).toEqual([]);
  });

  test('receives a port from the owner in Chromium, also after it was stopped; then no message goes over channels', async () => {
    await openControl();
    if (engine !== 'chromium') {
      // There a channel is quicker.
      expect((await watchOwnersChannel()).rounds).toBe(20);
      return;
    }
    expect((await watchOwnersChannel()).rounds).toBeLessThan(20);
    if (session.browser.can.stopServiceWorkers !== true) return;
    await session.browser.stopServiceWorkers(site.server.origin);
    const { rounds, seen } = await watchOwnersChannel();
    expect(rounds).toBeLessThan(20);
    expect(seen).toBeGreaterThan(0);
  });

  test('ignores requests that are not below the base', async () => {
    await openControl();
    expect(await call(tab, 'request', 'fetch', 'GET', '/dbx/notes')).toMatchObject({ status: 404 });
    expect(site.server.seen).toContain('/dbx/notes');
    expect(site.server.seen.filter((path) => path.startsWith(base))).toEqual([]);
  });

  /** How many rounds of requests it took until none was seen on the owner's channel, 20 where there was none such; and how many were seen. */
  async function watchOwnersChannel(): Promise<{ rounds: number; seen: number }> {
    const watched = await tab.evaluate(`(async () => {
      const { held } = await navigator.locks.query();
      const { name } = held.find(({ name }) => name.includes('|alive|'));
      const channel = new BroadcastChannel(name.replace('|alive|', '|'));
      let seen = 0;
      channel.onmessage = ({ data }) => {
        if (data.kind === 'request') seen += 1;
        if (data === 'own') channel.dispatchEvent(new Event('own'));
      };
      const echo = new BroadcastChannel(channel.name);
      let rounds = 0;
      for (let before = -1; seen !== before && rounds < 20; rounds += 1) {
        before = seen;
        for (let count = 0; count < 3; count += 1) await (await fetch('${database}')).json();
        const own = new Promise((resolve) => channel.addEventListener('own', resolve, { once: true }));
        echo.postMessage('own');
        await own;
      }
      channel.close();
      echo.close();
      return { rounds, seen };
    })()`);
    return watched as { rounds: number; seen: number };
  }

  /** A feed that no database makes yet: of a worker that makes it up. It has sent a line, and sends the next one after this test. */
  async function openFeed(): Promise<void> {
    site = await session.openSite();
    tab = await site.open('control');
    await call(tab, 'start', { base, worker: '/workers/feed.js' });
    await call(tab, 'request', 'fetch', 'PUT', database);
    expect(await call(tab, 'beginFeed', 'fetch', `${database}/_index?pauses=0,600000`)).toBe(0);
    await expect.poll(async () => (await call(tab, 'feed', 0)).lines.length, patient).toBe(1);
  }

  /** The feed ended, and not as if it were whole. */
  async function expectBroken(): Promise<void> {
    await expect.poll(async () => (await call(tab, 'feed', 0)).isOver, patient).toBe(true);
    const { lines, error } = await call(tab, 'feed', 0);
    expect(lines).toHaveLength(1);
    expect(error).toMatch(/Error/);
  }

  /** The body ended with an error, or is whole. */
  function assertNotCut({ error, bytes, end }: { error?: string; bytes: number; end: string }): void {
    if (error !== undefined) return;
    expect(bytes).toBeGreaterThan(largeBody.documents * largeBody.bytes);
    expect(end).toMatch(/\]\}\n$/);
  }
});

/** Runs in the page: writes to new ids, and leaves ids to the server, until `isStopped` is set. Gives how many had which status or error. */
async function writeUntilStopped(database: string): Promise<Record<'put' | 'posted', Record<string, number>>> {
  const tallies: Record<'put' | 'posted', Record<string, number>> = { put: {}, posted: {} };
  const page = globalThis as { isStopped?: boolean; written?: number };
  page.written = 0;
  const write = async (kind: 'put' | 'posted', method: string, path: string, body: string): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const status = await fetch(path, { method, headers, body }).then(
      (response) => String(response.status),
      (error) => String(error),
    );
    tallies[kind][status] = (tallies[kind][status] ?? 0) + 1;
    page.written = (page.written ?? 0) + 1;
  };
  let next = 0;
  const writer = async (): Promise<void> => {
    while (page.isStopped !== true) {
      const number = next++;
      await write('put', 'PUT', `${database}/put-${number}`, '{}');
      await write('posted', 'POST', database, JSON.stringify({ number }));
    }
  };
  await Promise.all(Array.from({ length: 10 }, writer));
  return tallies;
}
