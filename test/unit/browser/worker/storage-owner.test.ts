import 'fake-indexeddb/auto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLink } from '../../../../src/browser/bridge/link/owner-link.ts';
import {
  createSessionRelay,
  SessionRequests,
  shareSession,
} from '../../../../src/browser/bridge/ownership/shared-session.ts';
import { CookieJar } from '../../../../src/browser/cookie-jar.ts';
import { CoreSupervisor } from '../../../../src/browser/worker/core-supervisor.ts';
import { createIndexedDbPageStore } from '../../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { patient } from '../../../support/patience.ts';
import { Origin, toText } from './origin.ts';

/** More than a busy machine takes from one request to the next. */
const IDLE_MS = 2_000;

let origin: Origin;

beforeEach(() => {
  origin = new Origin();
});

afterEach(async () => {
  await origin.close();
  vi.restoreAllMocks();
});

const request = (method: string, path: string, body: string | null = null) => ({
  method,
  url: origin.instance.base + path,
  headers: body === null ? {} : { 'content-type': 'application/json' },
  body,
});

describe('a service worker without a page', () => {
  it('owns the storage while it works, and releases it when idle', async () => {
    const owner = origin.createServiceWorker({ idleMs: IDLE_MS });
    expect(await owner.handle(request('GET', ''))).toBeUndefined();
    expect(await owner.takeIfFree()).toBe(true);
    expect(await owner.handle(request('PUT', 'notes'))).toMatchObject({ status: 201 });
    await vi.waitFor(() => expect(origin.locks.snapshot().held).toEqual([]), patient);
    expect(await owner.handle(request('GET', 'notes'))).toBeUndefined();
    expect(await owner.takeIfFree()).toBe(true);
    expect(await owner.handle(request('GET', 'notes'))).toMatchObject({ status: 200 });
  });

  it('keeps the storage while a body is open', async () => {
    const owner = origin.createServiceWorker({ idleMs: IDLE_MS });
    await owner.takeIfFree();
    await owner.handle(request('PUT', 'notes'));
    const docs = Array.from({ length: 2000 }, (_, n) => ({ _id: `doc-${n}`, text: 'x'.repeat(100) }));
    await owner.handle(request('POST', 'notes/_bulk_docs', JSON.stringify({ docs })));
    const answer = await owner.handle(request('GET', 'notes/_all_docs?include_docs=true'));
    await new Promise((resolve) => setTimeout(resolve, 1.5 * IDLE_MS));
    expect(owner.isOwner).toBe(true);
    expect(JSON.parse(await toText(answer?.body ?? null)).rows).toHaveLength(2000);
    await vi.waitFor(() => expect(owner.isOwner).toBe(false), patient);
  });

  it('answers through a link that finds no other owner', async () => {
    const owner = origin.createServiceWorker();
    const provideOwner = async () => {
      await owner.takeIfFree();
    };
    const locks = origin.locks.client();
    const link = createLink({ instance: origin.instance, carrier: 'service-worker', locks, provideOwner });
    expect(await link.handle(request('PUT', 'notes'))).toMatchObject({ status: 201 });
    expect(await link.handle(request('GET', 'notes'))).toMatchObject({ status: 200 });
    link.close();
  });

  it('gives the storage to a tab that appears, without losing a request', async () => {
    const owner = origin.createServiceWorker();
    const provideOwner = async () => {
      await owner.takeIfFree();
    };
    const locks = origin.locks.client();
    const link = createLink({ instance: origin.instance, carrier: 'service-worker', locks, provideOwner });
    await link.handle(request('PUT', 'notes'));
    const writes = Array.from({ length: 100 }, async (_, n) => {
      await new Promise((resolve) => setTimeout(resolve, n));
      return link.handle(request('PUT', `notes/doc-${n}`, '{}'));
    });
    const tab = await origin.openTab();
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(writes.map(() => 201));
    expect(await tab.role()).toBe('owner');
    expect(owner.isOwner).toBe(false);
    expect((await tab.ask('GET', 'notes/_all_docs')).json.rows).toHaveLength(100);
    link.close();
  });
});

describe('a service worker that gives the storage to a tab', () => {
  const linkTo = (owner: ReturnType<Origin['createServiceWorker']>) => {
    const provideOwner = async () => {
      await owner.takeIfFree();
    };
    const locks = origin.locks.client();
    return createLink({ instance: origin.instance, carrier: 'service-worker', locks, provideOwner });
  };

  it('lets a body that is being read finish', async () => {
    const owner = origin.createServiceWorker();
    const link = linkTo(owner);
    await link.handle(request('PUT', 'notes'));
    const docs = Array.from({ length: 500 }, (_, n) => ({ _id: `doc-${n}`, text: 'x'.repeat(500) }));
    await link.handle(request('POST', 'notes/_bulk_docs', JSON.stringify({ docs })));
    const { body } = await link.handle(request('GET', 'notes/_all_docs?include_docs=true'));
    const opening = origin.openTab();
    await vi.waitFor(() => expect(owner.isOwner).toBe(false), patient);
    expect(JSON.parse(await toText(body)).rows).toHaveLength(500);
    await opening;
    link.close();
  });

  it('while opening the storage leaves all waiting requests to the tab', async () => {
    await (await origin.openTab()).ask('PUT', 'notes');
    await origin.close();
    const owner = origin.createServiceWorker();
    const link = linkTo(owner);
    const begun = vi.spyOn(CoreSupervisor.prototype, 'open');
    const writes = Array.from({ length: 10 }, (_, n) => link.handle(request('PUT', `notes/doc-${n}`, '{}')));
    await vi.waitFor(() => expect(begun).toHaveBeenCalledTimes(1), { ...patient, interval: 0 });
    const tab = await origin.openTab();
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(writes.map(() => 201));
    expect((await tab.ask('GET', 'notes/_all_docs')).json.rows).toHaveLength(10);
    link.close();
  });
});

describe('a worker that lost the storage', () => {
  const steal = async (name: string) => {
    const thief = origin.locks.client();
    await thief.request(`${origin.instance.name}|${name}`, { steal: true }, () => undefined);
  };

  it('answers no more requests', async () => {
    const owner = origin.createServiceWorker();
    await owner.takeIfFree();
    await owner.handle(request('PUT', 'notes'));
    await steal('owner');
    await vi.waitFor(() => expect(owner.isOwner).toBe(false), patient);
    expect(await owner.handle(request('GET', 'notes'))).toBeUndefined();
  });

  it('stores nothing more', async () => {
    const owner = origin.createServiceWorker();
    await owner.takeIfFree();
    await owner.handle(request('PUT', 'notes'));
    await owner.handle(request('PUT', 'notes/a', '{}'));
    const commits = vi.spyOn(IDBDatabase.prototype, 'transaction');
    await steal('owner');
    await vi.waitFor(() => expect(origin.locks.snapshot().held).toEqual([]), patient);
    const written = commits.mock.calls.filter(([stores, mode]) => mode === 'readwrite' && stores !== 'head');
    expect(written.filter(([stores]) => [stores].flat().includes('pages'))).toEqual([]);
  });
});

describe('an owner that releases the storage', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('refuses requests meanwhile, so that the next owner gets them', async () => {
    const owner = await origin.openTab();
    await owner.ask('PUT', 'notes');
    const link = createLink({ instance: origin.instance, carrier: 'tab', locks: origin.locks.client() });
    await link.handle(request('GET', 'notes'));
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { close } = CoreSupervisor.prototype;
    const closing = vi.spyOn(CoreSupervisor.prototype, 'close').mockImplementation(async function (
      this: CoreSupervisor,
    ) {
      await held;
      await close.call(this);
    });
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const closed = owner.close();
    await vi.waitFor(() => expect(closing).toHaveBeenCalledTimes(1), patient);
    await vi.advanceTimersByTimeAsync(5000);
    const write = link.handle(request('PUT', 'notes/a', '{}'));
    await vi.advanceTimersByTimeAsync(100);
    vi.useRealTimers();
    goOn();
    await closed;
    await origin.openTab();
    expect(await write).toMatchObject({ status: 201 });
    link.close();
  });
});

describe('an owner whose files another worker opened', () => {
  it('opens them again if it still has the lock, and the request is carried out once', async () => {
    const tab = await origin.openTab();
    await tab.ask('PUT', 'notes');
    // As one would that missed the loss of its lock.
    const store = createIndexedDbPageStore({ prefix: `${origin.instance.name}|`, indexedDB: origin.indexedDB });
    for (const file of await store.list()) await (await store.open(file, 'open')).close();
    await store.close();
    expect(await tab.ask('PUT', 'notes/a', { n: 1 })).toMatchObject({ status: 201 });
    expect((await tab.ask('GET', 'notes/_all_docs')).json.rows).toHaveLength(1);
    expect(await tab.ask('PUT', 'more')).toMatchObject({ status: 201 });
  });
});

describe('the session', () => {
  const createJar = (base: string, onChange = () => {}) =>
    new CookieJar({ base, clock: { now: () => 0, monotonic: () => 0 }, onChange });

  it('outlives its owner: a service worker passes it to the next one', async () => {
    const { instance } = origin;
    const relay = createSessionRelay();
    const kept = shareSession(instance, relay);
    const first = createJar(instance.base, () => firstShare.announce());
    const firstRequests = new SessionRequests({ onChange: () => firstShare.announce(), onLoad: () => {} });
    const firstShare = shareSession(instance, { cookies: first, replications: firstRequests });
    first.take('AuthSession=abc; Path=/; HttpOnly', `${instance.base}_session`);
    firstRequests.save('[{"body":{},"origin":{}}]');
    await vi.waitFor(() => expect(relay.cookies.text).toContain('abc'), patient);
    await vi.waitFor(() => expect(relay.replications.text).toContain('origin'), patient);
    firstShare.close();

    const second = createJar(instance.base);
    const onLoad = vi.fn();
    const secondRequests = new SessionRequests({ onChange: () => {}, onLoad });
    const secondShare = shareSession(instance, { cookies: second, replications: secondRequests });
    // A tab's worker tells that it comes; whoever keeps the session tells it.
    const tab = origin.createTab();
    void tab.open();
    await vi.waitFor(() => expect(second.header(instance.base)).toBe('AuthSession=abc'), patient);
    await vi.waitFor(() => expect(secondRequests.requests).toBe('[{"body":{},"origin":{}}]'), patient);
    expect(onLoad).toHaveBeenCalledTimes(1);
    secondShare.close();
    kept.close();
  });
});

describe('a restart by request', () => {
  it('keeps the owner, the session and requests in progress, and ends feeds', async () => {
    const [owner, follower] = [await origin.openTab(), await origin.openTab()];
    for (const name of ['notes', 'quiet', '_users']) await owner.ask('PUT', name);
    const ana = { type: 'user', name: 'ana', roles: [], password: 'secret' };
    await owner.ask('PUT', '_users/org.couchdb.user:ana', ana);
    await owner.ask('POST', '_session', { name: 'ana', password: 'secret' });
    const feed = owner.ask('GET', 'quiet/_changes?feed=longpoll&since=now&heartbeat=60000');
    const writes = Array.from({ length: 50 }, (_, n) => follower.ask('PUT', `notes/${n}`, {}));
    await Promise.all(writes.slice(0, 10));
    // Ana may not ask for it; nobody may, since there is no admin.
    const nobody = { 'content-type': 'application/json', 'settee-credentials': 'omit' };
    expect((await follower.send('POST', '_restart', nobody, '{}')).status).toBe(202);
    writes.push(...Array.from({ length: 50 }, (_, n) => owner.ask('PUT', `notes/later-${n}`, {})));
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(writes.map(() => 201));
    expect((await feed).status).toBe(200);
    expect((await owner.ask('GET', 'notes')).json).toMatchObject({ doc_count: 100 });
    expect((await follower.ask('GET', '_session')).json.userCtx).toEqual({ name: 'ana', roles: [] });
    expect([await owner.role(), await follower.role()]).toEqual(['owner', 'follower']);
  });

  it("opens a new core once, however often it is requested, and drops settings that don't persist", async () => {
    const opened = vi.spyOn(CoreSupervisor.prototype, 'open');
    const tab = await origin.openTab({ settings: { app: { given: 'app' } } });
    const headers = { 'content-type': 'application/json', 'x-svc-persist': 'false' };
    await tab.send('PUT', '_config/app/given', headers, '"other"');
    expect((await tab.ask('GET', '_config/app')).json).toEqual({ given: 'other' });
    const answers = await Promise.all([1, 2, 3].map(() => tab.ask('POST', '_restart', {})));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect((await tab.ask('GET', '_config/app')).json).toEqual({ given: 'app' });
    expect(opened).toHaveBeenCalledTimes(1);
  });

  it('does nothing if the storage is released meanwhile', async () => {
    const [owner, follower] = [await origin.openTab(), await origin.openTab()];
    await owner.ask('PUT', 'notes');
    expect((await owner.ask('POST', '_restart', {})).status).toBe(202);
    await owner.close();
    expect((await follower.ask('PUT', 'notes/first', {})).status).toBe(201);
    expect(await follower.role()).toBe('owner');
  });
});
