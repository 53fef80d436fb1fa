import { afterEach, describe, expect, test } from 'vitest';
import { arrayAt, at, numberAt } from '../support/conformance/json.ts';
import { patient } from '../support/patience.ts';
import { pause, type Site, useBrowserSession } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { type ProxiedServer, startProxiedServer } from './proxied-server.ts';

/** What replications of a page survive: the tab that runs them goes, the page is reloaded, the network goes and comes back. */
const soon = { ...patient, interval: 20 };

/** `SETTEE_KILLS=20` for the long run: so often the tab is killed, among so many documents. */
const kills = Number(process.env['SETTEE_KILLS'] ?? 3);
const documents = kills > 3 ? 20_000 : 3_000;

describe.each(chosenEngines())('replication in %s', (engine) => {
  const session = useBrowserSession(engine);
  let server: ProxiedServer;
  let site: Site;

  afterEach(() => server?.close());

  async function openSite(): Promise<Tab> {
    site = await session.openSite();
    server = await startProxiedServer(site);
    await server.ask('PUT', '/notes');
    const tab = await openTab();
    expect(await call(tab, 'request', 'settee', 'PUT', '/db/notes')).toMatchObject({ status: 201 });
    return tab;
  }

  async function openTab(): Promise<Tab> {
    const tab = await site.open('control');
    await call(tab, 'start', { base: '/db/' });
    return tab;
  }

  function request(tab: Tab, method: string, path: string, json?: unknown) {
    return call(tab, 'request', 'settee', method, path, json);
  }

  async function write(tab: Tab, id: string): Promise<void> {
    expect(await request(tab, 'PUT', `/db/notes/${id}`, { by: 'page' })).toMatchObject({ status: 201 });
  }

  async function read(tab: Tab, id: string): Promise<unknown> {
    return (await request(tab, 'GET', `/db/notes/${id}`)).json;
  }

  /** Of the replications by documents, as they are listed. */
  async function statesOf(tab: Tab): Promise<unknown[]> {
    const listed = (await request(tab, 'GET', '/db/_scheduler/docs')).json;
    return arrayAt(listed, 'docs').map((one) => at(one, 'state'));
  }

  /** The milliseconds until the first of the replications is tried again. */
  async function untilNextAttempt(tab: Tab): Promise<number> {
    const listed = (await request(tab, 'GET', '/db/_scheduler/docs')).json;
    const attempts = arrayAt(listed, 'docs').map((one) => Date.parse(`${at(one, 'info', 'next_attempt')}`));
    return Math.min(...attempts) - Date.now();
  }

  /** By documents of `_replicator`. */
  async function keepInSync(tab: Tab): Promise<void> {
    const remote = `${server.url}notes`;
    const pull = { source: remote, target: 'notes', continuous: true };
    const push = { source: 'notes', target: remote, continuous: true };
    await request(tab, 'PUT', '/db/_replicator');
    expect(await request(tab, 'PUT', '/db/_replicator/pull', pull)).toMatchObject({ status: 201 });
    expect(await request(tab, 'PUT', '/db/_replicator/push', push)).toMatchObject({ status: 201 });
  }

  /** What is written on one side comes to the other. */
  async function expectSync(tab: Tab, name: string): Promise<void> {
    // A write under way while the owner goes may be answered 503, a read never.
    await read(tab, name);
    await write(tab, `${name}-of-page`);
    await expect.poll(() => server.ask('GET', `/notes/${name}-of-page`), soon).toMatchObject({ by: 'page' });
    await server.ask('PUT', `/notes/${name}-of-server`, { by: 'server' });
    await expect.poll(() => read(tab, `${name}-of-server`), soon).toMatchObject({ by: 'server' });
  }

  test('requested by a document continues when its tab is closed, when the page is reloaded, and after all pages were closed', async () => {
    const tab = await openSite();
    await keepInSync(tab);
    await expectSync(tab, 'first');
    const other = await openTab();
    await tab.close();
    await expectSync(other, 'other');
    await other.reload();
    await call(other, 'start', { base: '/db/' });
    await expectSync(other, 'reloaded');
    await other.close();
    await server.ask('PUT', '/notes/alone', { by: 'server' });
    const next = await openTab();
    await expect.poll(() => read(next, 'alone'), soon).toMatchObject({ by: 'server' });
    await expectSync(next, 'next');
  });

  test('is never given up while the browser is offline, and says so', async ({ skip }) => {
    const { setOffline } = session.browser.can;
    if (setOffline !== true) skip(setOffline);
    const tab = await openSite();
    const settings: Readonly<Record<string, string>> = { max_replication_retry_count: '0', retries_per_request: '0' };
    for (const [key, value] of Object.entries(settings))
      expect(await request(tab, 'PUT', `/db/_config/replicator/${key}`, value)).toMatchObject({ status: 200 });
    await session.browser.setOffline(true);
    try {
      server.breakDown(true);
      await keepInSync(tab);
      await expect.poll(() => statesOf(tab), soon).toEqual(['paused', 'paused']);
      const listed = (await request(tab, 'GET', '/db/_scheduler/docs')).json;
      for (const one of arrayAt(listed, 'docs')) {
        expect(one).toMatchObject({ error_count: 0, info: { error: expect.stringMatching(/^offline: /) } });
      }
      const pull = async () => (await request(tab, 'GET', '/db/_replicator/pull')).json;
      await expect.poll(pull, soon).toMatchObject({ _replication_state_reason: expect.stringMatching(/^offline: /) });
      expect(await pull()).not.toHaveProperty('_replication_state');
    } finally {
      server.breakDown(false);
      await session.browser.setOffline(false);
    }
    await expectSync(tab, 'back');
    expect(await statesOf(tab)).toEqual(['running', 'running']);
  });

  test('continues after the server was unreachable', async () => {
    const tab = await openSite();
    await keepInSync(tab);
    await expectSync(tab, 'before');
    server.breakDown(true);
    await write(tab, 'meanwhile');
    await pause(500);
    server.breakDown(false);
    await expect.poll(() => server.ask('GET', '/notes/meanwhile'), soon).toMatchObject({ by: 'page' });
    await expectSync(tab, 'after');
  });

  test('continues at once when the browser is online again', async ({ skip }) => {
    const { setOffline } = session.browser.can;
    if (setOffline !== true) skip(setOffline);
    const tab = await openSite();
    await keepInSync(tab);
    await expectSync(tab, 'before');
    const beforeNextAttempt = { ...soon };
    // Each attempt that fails doubles the wait for the next one, until a busy machine needs less.
    await session.browser.setOffline(true);
    try {
      server.breakDown(true);
      await write(tab, 'meanwhile');
      await server.ask('PUT', '/notes/elsewhere', { by: 'server' });
      // Both wait for the network: neither is said to run, or to have failed.
      await expect.poll(() => statesOf(tab), soon).toEqual(['paused', 'paused']);
      expect(await server.ask('GET', '/notes/meanwhile')).toMatchObject({ error: 'not_found' });
      await expect.poll(() => untilNextAttempt(tab), soon).toBeGreaterThan(15_000);
      beforeNextAttempt.timeout = await untilNextAttempt(tab);
    } finally {
      server.breakDown(false);
      await session.browser.setOffline(false);
    }
    await expect.poll(() => server.ask('GET', '/notes/meanwhile'), beforeNextAttempt).toMatchObject({ by: 'page' });
    await expect.poll(() => read(tab, 'elsewhere'), beforeNextAttempt).toMatchObject({ by: 'server' });
  });

  test('continues in the service worker when the only page closes while something waits', async () => {
    const tab = await openSite();
    await keepInSync(tab);
    await expectSync(tab, 'before');
    server.breakDown(true);
    await write(tab, 'left-behind');
    await pause(200);
    await tab.close();
    server.breakDown(false);
    await expect.poll(() => server.ask('GET', '/notes/left-behind'), soon).toMatchObject({ by: 'page' });
    await expectSync(await openTab(), 'after');
  });

  test('requested once is answered 503 when the owner closes in the middle, and can be requested again', async () => {
    const owner = await openSite();
    const other = await openTab();
    await server.ask('PUT', '/notes/doc', { by: 'server' });
    server.allow('/_bulk_get', 0);
    const once = { source: `${server.url}notes`, target: 'notes' };
    const asked = request(other, 'POST', '/db/_replicate', once);
    await expect.poll(() => server.seen.some((line) => line.includes('/_bulk_get')), soon).toBe(true);
    await owner.close();
    expect(await asked).toMatchObject({ status: 503, json: { error: 'service_unavailable' } });
    server.allow('/_bulk_get', 10);
    expect(await request(other, 'POST', '/db/_replicate', once)).toMatchObject({ status: 200, json: { ok: true } });
    expect(await read(other, 'doc')).toMatchObject({ by: 'server' });
  });

  test('is continued by the service worker after background synchronization starts it', async ({ skip }) => {
    const { dispatchSync, stopServiceWorkers } = session.browser.can;
    if (dispatchSync !== true) skip(dispatchSync);
    if (stopServiceWorkers !== true) skip(stopServiceWorkers);
    const tab = await openSite();
    await keepInSync(tab);
    await expectSync(tab, 'before');
    server.breakDown(true);
    await write(tab, 'left-behind');
    await tab.close();
    // It goes on by itself for a while, then the browser ends it.
    await pause(2_000);
    await session.browser.stopServiceWorkers(site.server.origin);
    server.breakDown(false);
    expect(await server.ask('GET', '/notes/left-behind')).toMatchObject({ error: 'not_found' });
    await session.browser.dispatchSync(site.server.origin, `settee ${site.server.origin}/db/`);
    await expect.poll(() => server.ask('GET', '/notes/left-behind'), soon).toMatchObject({ by: 'page' });
  });

  test(`continues from the checkpoint in the next tab after its tab is killed ${kills} times amid ${documents} documents`, {
    timeout: 60_000 + kills * 30_000,
  }, async () => {
    let owner = await openSite();
    let other = await openTab();
    for (let from = 0; from < documents; from += 1_000) {
      const docs = Array.from({ length: 1_000 }, (_, n) => ({ _id: `doc-${from + n}`, text: 'x'.repeat(400) }));
      await server.ask('POST', '/notes/_bulk_docs', { docs });
    }
    const pull = { source: `${server.url}notes`, target: 'notes', continuous: true };
    const batch = 50;
    const small = { worker_batch_size: batch, worker_processes: 1, checkpoint_interval: 50 };
    const ofOneLife = Math.floor(documents / batch / (kills + 2));
    server.allow('/_bulk_get', ofOneLife);
    expect(await request(owner, 'POST', '/db/_replicate', { ...pull, ...small })).toMatchObject({ status: 202 });
    const count = async () => numberAt((await request(other, 'GET', '/db/notes')).json, 'doc_count');
    const checkpoint = async () => checkpointOf((await request(other, 'GET', '/db/_scheduler/jobs')).json);
    const lives: { readonly checkpoint: number; readonly wentOnFrom: number }[] = [];
    for (let kill = 1; kill <= kills; kill += 1) {
      const begun = lives.at(-1)?.wentOnFrom ?? 0;
      await expect.poll(checkpoint, soon).toBeGreaterThan(begun);
      const reached = await checkpoint();
      await end(owner, other);
      server.forget();
      server.allow('/_bulk_get', ofOneLife);
      owner = other;
      other = await openTab();
      await expect.poll(() => firstSince(server.seen), soon).toBeDefined();
      lives.push({ checkpoint: reached, wentOnFrom: Number(firstSince(server.seen)) });
    }
    const told = `checkpoint and where the next one began: ${lives.map((life) => Object.values(life).join(' ')).join(', ')}`;
    console.info(`${engine}: ${told}`);
    // The last checkpoint that was seen counts, or one that was written behind it.
    expect(
      lives.every((life) => life.wentOnFrom >= life.checkpoint),
      told,
    ).toBe(true);
    expect(lives.at(-1)?.wentOnFrom, 'all were killed amid the documents').toBeLessThan(documents);
    server.allow('/_bulk_get', documents);
    await expect.poll(count, { ...patient, interval: 50 }).toBe(documents);
    const listed = (await request(other, 'GET', '/db/_scheduler/jobs')).json;
    expect(arrayAt(listed, 'jobs').map((job) => at(job, 'state'))).toEqual(['running']);
  });

  /** As hard as the browser can. */
  async function end(tab: Tab, other: Tab): Promise<void> {
    const id = session.browser.can.kill === true ? await tab.process() : undefined;
    if (id === undefined || id === (await other.process())) await tab.close();
    else process.kill(id, 'SIGKILL');
  }
});

/** Up to where the only replication has its checkpoint; 0 where it has none yet. */
function checkpointOf(listed: unknown): number {
  const [job] = arrayAt(listed, 'jobs');
  return Number(at(job, 'info', 'checkpointed_source_seq') ?? 0);
}

/** From where the changes are read by the first request for them. */
function firstSince(seen: readonly string[]): string | undefined {
  return seen.map((line) => /_changes\?feed=normal.*&since=(\d+)/.exec(line)?.[1]).find((since) => since !== undefined);
}
