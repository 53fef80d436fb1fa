import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { channelName, toNetworkAddress } from '../../../../src/browser/bridge/instance.ts';
import { PROTOCOL } from '../../../../src/browser/bridge/wire.ts';
import { ServiceWorkerHost } from '../../../../src/browser/sw/service-worker-host.ts';
import { patient } from '../../../support/patience.ts';
import { Origin, type Tab } from '../worker/origin.ts';
import { FakeFetch, FakeScope } from './fake-scope.ts';

let origin: Origin;
let scope: FakeScope;
let host: ServiceWorkerHost;

beforeEach(() => {
  origin = new Origin();
  scope = new FakeScope(origin);
  host = new ServiceWorkerHost(scope.asScope, { base: origin.instance.base });
});

afterEach(() => origin.close());

function fetchThrough(path: string, init?: RequestInit): FakeFetch {
  const event = new FakeFetch(new Request(new URL(path, origin.instance.base), init));
  expect(host.respond(event.asEvent)).toBe(true);
  return event;
}

async function answerTo(path: string, init?: RequestInit): Promise<Response> {
  const { response } = fetchThrough(path, init);
  if (response === undefined) throw new Error('The event was not answered');
  return response;
}

describe('the service worker', () => {
  test('decides by the address alone whether it answers, and leaves other events untouched', () => {
    for (const url of ['https://app.example/', 'https://app.example/main.js', 'https://other.example/db/']) {
      const event = new FakeFetch(new Request(url));
      expect(host.respond(event.asEvent)).toBe(false);
      expect(event.response).toBeUndefined();
    }
    expect(host.handles(new Request(`${host.base}notes/a`))).toBe(true);
    expect(host.base).toBe(origin.instance.base);
  });

  test('leaves requests of a replication to a server at the base to the network', () => {
    const event = new FakeFetch(new Request(toNetworkAddress(origin.instance, `${host.base}notes/_changes?since=0`)));
    expect(event.request.url).toBe(`${host.base}notes/_changes?since=0#settee-to-network`);
    expect(host.handles(event.request)).toBe(false);
    expect(host.respond(event.asEvent)).toBe(true);
    expect(event.response).toBeUndefined();
    expect(toNetworkAddress(origin.instance, 'https://other.example/db/')).toBe('https://other.example/db/');
  });

  test('answers the liveness check at once and by itself', async () => {
    const response = await answerTo('_settee/alive');
    expect([response.status, await response.text()]).toEqual([204, '']);
    expect(scope.imported).toEqual([]);
  });
});

describe('with a page that owns the storage', () => {
  let page: Tab;

  beforeEach(async () => {
    page = await origin.openTab();
    await page.ask('PUT', 'notes');
  });

  test("requests are sent to it, and the core isn't loaded", async () => {
    const created = await answerTo('notes/a', { method: 'PUT', body: '{"n":1}' });
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe(`${host.base}notes/a`);
    const read = await answerTo('notes/a#part');
    expect(await read.json()).toMatchObject({ _id: 'a', n: 1 });
    expect(scope.imported).toEqual([]);
  });

  test('requests are sent over the port it offers, once the page has passed it on', async () => {
    await Promise.all([answerTo('notes'), answerTo('notes')]);
    expect(page.offers.map(({ offer }) => offer)).toEqual([
      { type: 'SETTEE_PORT', base: host.base, owner: expect.any(String), peer: expect.any(String) },
    ]);
    const [{ offer, port } = expect.unreachable()] = page.offers;
    const overChannel: unknown[] = [];
    const channel = new BroadcastChannel(channelName(origin.instance, offer.owner));
    channel.onmessage = ({ data }) => overChannel.push(data);
    // Another base's is left to the service worker of that base.
    scope.pass({ ...offer, base: 'https://app.example/other/' }, port);
    scope.pass(offer, port);
    expect(await (await answerTo('notes')).json()).toMatchObject({ db_name: 'notes' });
    expect((await answerTo('notes/b', { method: 'PUT', body: '{}' })).status).toBe(201);
    await new Promise((resolve) => setTimeout(resolve));
    channel.close();
    expect(overChannel).toEqual([]);
    expect(page.offers).toHaveLength(1);
  });

  test.for([
    ['HEAD', 'notes', 200],
    ['HEAD', 'missing', 404],
  ] as const)('the response to a %s with %s has no body', async ([method, path, status]) => {
    const response = await answerTo(path, { method });
    expect([response.status, response.body]).toEqual([status, null]);
  });

  test('a 304 has no body', async () => {
    await answerTo('notes/a', { method: 'PUT', body: '{}' });
    const etag = (await answerTo('notes/a')).headers.get('etag') ?? '';
    const response = await answerTo('notes/a', { headers: { 'If-None-Match': etag } });
    expect([response.status, response.body]).toEqual([304, null]);
  });

  test("a request that can't be delivered is answered with the reason", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('the disk was pulled out')) });
    const init = { method: 'PUT', body, duplex: 'half' };
    const response = await answerTo('notes/a', init);
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({
      error: 'service_unavailable',
      reason: expect.stringContaining('the disk was pulled out'),
    });
  });

  test('a streamed body keeps the service worker alive until it was read', async () => {
    const docs = Array.from({ length: 400 }, (_, index) => ({ _id: `${index}`, text: 'x'.repeat(1000) }));
    await answerTo('notes/_bulk_docs', {
      method: 'POST',
      body: JSON.stringify({ docs }),
      headers: { 'Content-Type': 'application/json' },
    });
    const event = fetchThrough('notes/_all_docs?include_docs=true');
    const response = await event.response;
    expect(event.waits).toHaveLength(1);
    const over = vi.fn();
    void event.waits[0]?.then(over);
    const reader = response?.body?.getReader();
    await reader?.read();
    await new Promise((resolve) => setImmediate(resolve));
    expect(over).not.toHaveBeenCalled();
    while (!(await reader?.read())?.done);
    await vi.waitFor(() => expect(over).toHaveBeenCalled(), patient);
  });

  test('a drain fails open bodies after three seconds, and answers when their readers know', async () => {
    const docs = Array.from({ length: 400 }, (_, index) => ({ _id: `${index}`, text: 'x'.repeat(1000) }));
    await answerTo('notes/_bulk_docs', {
      method: 'POST',
      body: JSON.stringify({ docs }),
      headers: { 'Content-Type': 'application/json' },
    });
    const event = fetchThrough('notes/_all_docs?include_docs=true');
    const reader = (await event.response)?.body?.getReader();
    await reader?.read();
    const startedAt = performance.now();
    expect(await scope.say({ type: 'SETTEE_DRAIN', base: host.base })).toEqual({ protocol: PROTOCOL });
    expect(performance.now() - startedAt).toBeGreaterThan(3200);
    await expect(reader?.read()).rejects.toThrow('A new version of this app takes over');
    await Promise.all(event.waits);
  });

  test('a drain requested by a page of another base waits for that body as well', async () => {
    const otherBase = 'https://app.example/other/';
    const other = new ServiceWorkerHost(scope.asScope, { base: otherBase });
    expect(other.base).toBe(otherBase);
    await page.ask('POST', 'notes/_bulk_docs', {
      docs: Array.from({ length: 1000 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(200) })),
    });
    const event = fetchThrough('notes/_all_docs?include_docs=true');
    const reader = (await event.response)?.body?.getReader();
    await reader?.read();
    let isAnswered = false;
    const drained = scope.say({ type: 'SETTEE_DRAIN', base: otherBase }).then((answer) => {
      isAnswered = true;
      return answer;
    });
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(isAnswered).toBe(false);
    await reader?.cancel();
    expect(await drained).toEqual({ protocol: PROTOCOL });
  });
});

/** As a browser sees it: what the listener throws does not count, what it waits for does. */
async function installed(): Promise<void> {
  const waits: Promise<unknown>[] = [];
  const waitUntil = (promise: Promise<unknown>) => void waits.push(promise);
  host.install(Object.assign(new Event('install'), { waitUntil }) as ExtendableEvent);
  expect(waits).not.toEqual([]);
  await Promise.all(waits);
}

describe('with no page', () => {
  test('the service worker loads the core, beside its own script, and answers by itself', async () => {
    expect((await answerTo('notes', { method: 'PUT' })).status).toBe(201);
    expect(await (await answerTo('notes')).json()).toMatchObject({ db_name: 'notes', doc_count: 0 });
    expect(scope.imported).toEqual(['https://app.example/settee-sw-core.js']);
  });

  test('the service worker gives the storage to a page that appears', async () => {
    await answerTo('notes', { method: 'PUT' });
    const tab = await origin.openTab();
    await vi.waitFor(async () => expect(await tab.role()).toBe('owner'), patient);
    expect((await answerTo('notes')).status).toBe(200);
  });

  test('installing loads the core once, so that it is available offline', async () => {
    await installed();
    expect(scope.imported).toEqual(['https://app.example/settee-sw-core.js']);
    await answerTo('notes', { method: 'PUT' });
    expect(scope.imported).toHaveLength(1);
  });

  test('a core of another version is refused with a reason', async () => {
    scope = new FakeScope(origin, 999);
    host = new ServiceWorkerHost(scope.asScope, { base: origin.instance.base, core: '/lib/core.js' });
    await expect(installed()).rejects.toThrow(/\/lib\/core\.js.*version/);
    expect(scope.imported).toEqual(['https://app.example/lib/core.js']);
  });
});

describe('the administration page', () => {
  const served = { respond: ({ request }: FetchEvent) => (/_utils\/$/.test(request.url) ? ok() : undefined) };
  const ok = async () => new Response('the page');
  const withPage = (utils: boolean | string, base = origin.instance.base) => {
    scope.page = { createPage: ({ script }) => (script.pathname.endsWith('.js') ? served : expect.unreachable()) };
    host = new ServiceWorkerHost(scope.asScope, { base, utils });
  };

  test.for([
    [true, 'https://app.example/settee-utils/settee-sw-utils.js'],
    ['/lib/settee-sw-utils.js?1', 'https://app.example/lib/settee-sw-utils.js?1'],
  ] as const)('is served by its script, with the option utils: %s', async ([utils, address]) => {
    withPage(utils);
    expect(scope.imported).toEqual([address]);
    expect(await (await answerTo('_utils/')).text()).toBe('the page');
    expect(scope.imported).toHaveLength(1);
    expect(await (await answerTo('_utils/settings.json')).json()).toEqual({ read_only: false });
  });

  test('has one script for all bases', () => {
    withPage(true);
    withPage(true, 'https://app.example/other/');
    expect(scope.imported).toHaveLength(1);
  });

  test('whose script is missing is an error that says what to copy', () => {
    expect(() => new ServiceWorkerHost(scope.asScope, { base: origin.instance.base, utils: true })).toThrow(
      'The administration page is not at https://app.example/settee-utils/settee-sw-utils.js: copy the folder settee/dist/utils there',
    );
  });

  test('is not implemented in an app that leaves it out, which loads nothing for it', async () => {
    const response = await answerTo('_utils/');
    expect(response.status).toBe(501);
    expect(await response.json()).toEqual({
      error: 'not_implemented',
      reason: expect.stringContaining('With Vite, settee({ utils: true }) adds the page'),
    });
    expect(scope.imported).toEqual(['https://app.example/settee-sw-core.js']);
  });
});

describe('messages of pages to the service worker', () => {
  test('claim a page below the base', async () => {
    expect(await scope.say({ type: 'SETTEE_CLAIM', base: host.base })).toEqual({ protocol: PROTOCOL });
    expect(scope.done).toEqual(['claimed']);
  });

  test('get no answer for a page of another base', async () => {
    expect(await scope.say({ type: 'SETTEE_CLAIM', base: 'https://app.example/other/' })).toBeUndefined();
    expect(scope.done).toEqual([]);
  });

  test('drain at once if no body is open', async () => {
    expect(await scope.say({ type: 'SETTEE_DRAIN', base: host.base })).toEqual({ protocol: PROTOCOL });
  });

  test('let a new version take over', async () => {
    await scope.say({ type: 'SKIP_WAITING' });
    expect(scope.done).toEqual(['skipped']);
  });

  test.for([null, 'text', { type: 'else' }])('are ignored if unknown: %j', async (message) => {
    await scope.say(message);
    expect(scope.done).toEqual([]);
  });
});

describe('replications that the last page leaves unfinished', () => {
  /** What becomes of the event that background synchronization sends. */
  async function sync(tag: string): Promise<readonly PromiseSettledResult<unknown>[]> {
    const waits: Promise<unknown>[] = [];
    const waitUntil = (promise: Promise<unknown>) => void waits.push(promise);
    scope.dispatchEvent(Object.assign(new Event('sync'), { tag, waitUntil }));
    return Promise.allSettled(waits);
  }

  test('are done by the service worker, which owns the storage meanwhile', async () => {
    await answerTo('notes', { method: 'PUT' });
    await answerTo('copy', { method: 'PUT' });
    await answerTo('notes/a', { method: 'PUT', body: '{"n":1}' });
    await answerTo('_replicator', { method: 'PUT' });
    const body = JSON.stringify({ source: 'notes', target: 'copy', continuous: true });
    await answerTo('_replicator/copy', { method: 'PUT', body });
    expect(await sync(`settee ${host.base}`)).toEqual([{ status: 'fulfilled', value: undefined }]);
    expect(await (await answerTo('copy/a')).json()).toMatchObject({ n: 1 });
  });

  test('are left to a page that owns the storage, and other sync tags are ignored', async () => {
    const tab = await origin.openTab();
    expect(await sync(`settee ${host.base}`)).toEqual([{ status: 'fulfilled', value: undefined }]);
    expect(await tab.role()).toBe('owner');
    expect(await sync('settee https://app.example/other/')).toEqual([]);
    expect(await sync('of-the-app')).toEqual([]);
  });

  test('make the sync event fail if they fail, so that the browser tries again', async () => {
    await answerTo('_replicator', { method: 'PUT' });
    const body = JSON.stringify({ source: 'https://nobody.invalid/notes', target: 'copy', retries_per_request: 0 });
    await answerTo('_replicator/copy', { method: 'PUT', body });
    expect(await sync(`settee ${host.base}`)).toMatchObject([{ status: 'rejected' }]);
  });
});
