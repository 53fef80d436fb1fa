import 'fake-indexeddb/auto';
import { forceCloseDatabase, IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ByteStream } from '../../../../src/base/shared/message.ts';
import { PROTOCOL } from '../../../../src/browser/bridge/wire.ts';
import { WorkerEndpoint } from '../../../../src/browser/worker/worker-endpoint.ts';
import { FakeLocks } from '../../../support/fake-locks.ts';
import { patient } from '../../../support/patience.ts';
import { deferred, Origin } from './origin.ts';

let origin: Origin;

beforeEach(() => {
  origin = new Origin();
});

afterEach(async () => {
  await origin.close();
  vi.restoreAllMocks();
});

/** A body without a length. */
function inOneChunk(text: string): ByteStream {
  const chunks = [new TextEncoder().encode(text)];
  return { pull: async () => chunks.shift(), cancel: async () => {} };
}

describe('a single tab', () => {
  it('owns the storage and answers from its own core', async () => {
    const tab = await origin.openTab();
    expect(await tab.ask('PUT', 'notes')).toMatchObject({ status: 201, json: { ok: true } });
    expect(await tab.ask('PUT', 'notes/a', { n: 1 })).toMatchObject({ status: 201, json: { ok: true, id: 'a' } });
    expect(await tab.ask('GET', 'notes/a')).toMatchObject({ status: 200, json: { _id: 'a', n: 1 } });
    expect(await tab.endpoint.status()).toMatchObject({ role: 'owner', engine: 'indexeddb', protocol: PROTOCOL });
  });

  it('names addresses below the base in Location', async () => {
    const tab = await origin.openTab();
    const { headers } = await tab.ask('PUT', 'notes');
    expect(headers['location']).toBe(`${origin.instance.base}notes`);
  });

  it('keeps what it wrote for the next tab', async () => {
    const tab = await origin.openTab();
    await tab.ask('PUT', 'notes');
    await tab.ask('PUT', 'notes/a', { n: 1 });
    await tab.close();
    const next = await origin.openTab();
    expect(await next.ask('GET', 'notes/a')).toMatchObject({ status: 200, json: { n: 1 } });
  });

  it('streams large bodies in both directions', async () => {
    const tab = await origin.openTab();
    await tab.ask('PUT', 'notes');
    const docs = Array.from({ length: 3000 }, (_, n) => ({ _id: `doc-${n}`, text: 'x'.repeat(100) }));
    const bytes = new TextEncoder().encode(JSON.stringify({ docs }));
    let at = 0;
    const upload = {
      pull: async () => {
        const chunk = bytes.slice(at, at + 50_000);
        at += chunk.length;
        return chunk.length > 0 ? chunk : undefined;
      },
      cancel: async () => {},
    };
    expect(await tab.send('POST', 'notes/_bulk_docs', { 'content-type': 'application/json' }, upload)).toMatchObject({
      status: 201,
    });
    const { json } = await tab.ask('GET', 'notes/_all_docs?include_docs=true');
    expect(json.rows).toHaveLength(3000);
    expect(json.rows[2999].doc.text).toHaveLength(100);
  });

  it('answers 503 after it was closed', async () => {
    const tab = await origin.openTab();
    await tab.close();
    expect(await tab.ask('GET')).toMatchObject({ status: 503, json: { error: 'service_unavailable' } });
    expect(await tab.role()).toBe('waiting');
  });

  it.for([
    ['makes a database', 'PUT', 'notes', null],
    ['opens one', 'PUT', 'kept/a', '{}'],
    ['is a stream and opens one', 'POST', 'kept/_bulk_docs', inOneChunk('{"docs":[{"_id":"a"}]}')],
  ] as const)('finishes requests in progress before it is closed, also if %s', async ([, method, path, body]) => {
    const former = await origin.openTab();
    await former.ask('PUT', 'kept');
    await former.close();
    const tab = await origin.openTab();
    // In a browser that is a way to another process and back.
    vi.spyOn(tab.client, 'query').mockImplementation(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return origin.locks.snapshot();
    });
    const handle = vi.spyOn(tab.endpoint, 'handle');
    const answer = tab.send(method, path, { 'content-type': 'application/json' }, body);
    await vi.waitFor(() => expect(handle).toHaveBeenCalledTimes(1), { ...patient, interval: 0 });
    await tab.close();
    expect((await answer).status).toBe(201);
  });

  it('frees every lock when it is closed', async () => {
    const tab = await origin.openTab();
    expect(origin.locks.snapshot().held).not.toEqual([]);
    await tab.close();
    await vi.waitFor(() => expect(origin.locks.snapshot()).toEqual({ held: [], pending: [] }), patient);
  });
});

describe('a tab of another version', () => {
  it('is refused by a worker that was loaded since, with a named error', async () => {
    const opening = origin.createTab().open({ protocol: PROTOCOL - 1 });
    await expect(opening).rejects.toMatchObject({ name: 'OtherProtocol', message: expect.stringContaining('reload') });
  });

  it('learns at once that a newer one owns the storage, and is notified when one takes it over', async () => {
    const tab = await origin.openTab();
    const newer = origin.createServiceWorker({ kind: 'tab', protocol: PROTOCOL + 1 });
    await newer.opened;
    await vi.waitFor(() => expect(tab.outdated).toBe(1), patient);
    await expect(origin.openTab()).rejects.toMatchObject({ name: 'OtherProtocol' });
    expect(await tab.ask('GET')).toMatchObject({ status: 503 });
  });
});

describe('two tabs', () => {
  it('share one storage, which the first owns', async () => {
    const first = await origin.openTab();
    const second = await origin.openTab();
    expect([await first.role(), await second.role()]).toEqual(['owner', 'follower']);
    await second.ask('PUT', 'notes');
    await second.ask('PUT', 'notes/a', { by: 'second' });
    expect(await first.ask('GET', 'notes/a')).toMatchObject({ json: { by: 'second' } });
    await first.ask('PUT', 'notes/b', { by: 'first' });
    expect(await second.ask('GET', 'notes/b')).toMatchObject({ json: { by: 'first' } });
  });

  it("finish each other's requests before they are closed", async () => {
    const [first, second] = [await origin.openTab(), await origin.openTab()];
    await first.ask('PUT', 'notes');
    const answers = Array.from({ length: 10 }, (_, index) => second.ask('PUT', `notes/${index}`, { n: index }));
    // They have left by then, and none is answered.
    await new Promise((resolve) => setImmediate(resolve));
    await second.endpoint.close();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(10).fill(201));
    expect(await first.ask('GET', 'notes')).toMatchObject({ json: { doc_count: 10 } });
  });

  it('get exactly one 409 when both write a document', async () => {
    const tabs = [await origin.openTab(), await origin.openTab()];
    await tabs[0]?.ask('PUT', 'notes');
    const answers = await Promise.all(tabs.map((tab) => tab.ask('PUT', 'notes/a', { n: 1 })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it('lose no acknowledged write when the owner closes', async () => {
    const first = await origin.openTab();
    const second = await origin.openTab();
    await first.ask('PUT', 'notes');
    const acknowledged: string[] = [];
    const writes = Array.from({ length: 300 }, async (_, n) => {
      const id = `doc-${n}`;
      await new Promise((resolve) => setTimeout(resolve, n / 10));
      const { status } = await second.ask('PUT', `notes/${id}`, { n });
      if (status === 201) acknowledged.push(id);
      return status;
    });
    await Promise.all(writes.slice(0, 50));
    await first.close();
    const statuses = await Promise.all(writes);
    expect(statuses.filter((status) => status !== 201)).toEqual([]);
    const { json } = await second.ask('GET', 'notes/_all_docs');
    expect(await second.role()).toBe('owner');
    expect(json.rows.map(({ id }: { id: string }) => id)).toEqual(acknowledged.sort());
  });

  it('continue when the owner is killed, and its later writes are refused', async () => {
    const ghost = await origin.openTab();
    const heir = await origin.openTab();
    await ghost.ask('PUT', 'notes');
    await ghost.ask('PUT', 'notes/a', { n: 1 });
    ghost.kill();
    expect(await heir.ask('GET', 'notes/a')).toMatchObject({ status: 200, json: { n: 1 } });
    await heir.ask('PUT', 'notes/b', { by: 'heir' });
    // It knows nothing of its death; its commit is fenced, and what it was asked goes to the heir.
    expect(await ghost.ask('PUT', 'notes/b', { by: 'ghost' })).toMatchObject({ status: 409 });
    expect(await heir.ask('GET', 'notes/b')).toMatchObject({ json: { by: 'heir' } });
    expect(await ghost.ask('PUT', 'notes/c', { by: 'ghost' })).toMatchObject({ status: 201 });
    expect(await heir.ask('GET', 'notes/c')).toMatchObject({ json: { by: 'ghost' } });
    expect(await ghost.role()).toBe('follower');
    expect(await heir.role()).toBe('owner');
  });

  it('take the storage from an owner without a sign of life', async () => {
    const locks = origin.locks.client();
    const { name } = origin.instance;
    const frozen = new Promise<never>(() => {});
    const stolen = Promise.allSettled([
      locks.request(`${name}|owner`, () => frozen),
      locks.request(`${name}|alive|dead-owner`, () => frozen),
    ]);
    const tab = await origin.openTab();
    expect(await tab.role()).toBe('owner');
    expect((await stolen).map((result) => result.status === 'rejected' && result.reason.name)).toEqual([
      'AbortError',
      'AbortError',
    ]);
  });
});

describe('storage that the browser takes away', () => {
  const databases = async (factory: IDBFactory): Promise<string[]> =>
    (await factory.databases()).flatMap(({ name }) => name ?? []);

  const remove = (factory: IDBFactory, name: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const request = factory.deleteDatabase(name);
      request.onsuccess = () => resolve();
      request.onerror = () => reject(request.error);
    });

  it('is replaced by a new one when its databases are deleted underneath', async () => {
    const tab = await origin.openTab();
    await tab.ask('PUT', 'notes');
    await tab.ask('PUT', 'notes/a', { n: 1 });
    const before = { uuid: (await tab.ask('GET')).json.uuid, info: (await tab.ask('GET', 'notes')).json };
    for (const name of await databases(origin.indexedDB)) await remove(origin.indexedDB, name);
    expect(await tab.ask('GET', 'notes/a')).toMatchObject({ status: 404, json: { reason: 'no_db_file' } });
    expect(await tab.ask('PUT', 'notes')).toMatchObject({ status: 201 });
    expect(await tab.ask('PUT', 'notes/a', { n: 2 })).toMatchObject({ status: 201 });
    const after = { uuid: (await tab.ask('GET')).json.uuid, info: (await tab.ask('GET', 'notes')).json };
    expect(after.uuid).not.toBe(before.uuid);
    expect(after.info.instance_start_time).not.toBe(before.info.instance_start_time);
  });

  it('is reopened unnoticed when its connections are closed', async () => {
    const opened: IDBDatabase[] = [];
    const open = origin.indexedDB.open.bind(origin.indexedDB);
    vi.spyOn(origin.indexedDB, 'open').mockImplementation((name, version) => {
      const request = open(name, version);
      request.addEventListener('success', () => opened.push(request.result));
      return request;
    });
    const tab = await origin.openTab();
    await tab.ask('PUT', 'notes');
    const { rev } = (await tab.ask('PUT', 'notes/a', { n: 1 })).json;
    const { uuid } = (await tab.ask('GET')).json;
    const writes = [tab.ask('PUT', 'notes/b', { n: 1 }), tab.ask('PUT', 'notes/c', { n: 1 })];
    // biome-ignore lint/suspicious/noExplicitAny: its type wants the fake's own class.
    for (const database of opened.splice(0)) forceCloseDatabase(database as any);
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual([201, 201]);
    expect(await tab.ask('PUT', 'notes/a', { n: 2, _rev: rev })).toMatchObject({ status: 201 });
    expect((await tab.ask('GET')).json.uuid).toBe(uuid);
    expect((await tab.ask('GET', 'notes/_all_docs')).json.rows).toHaveLength(3);
  });

  it('answers 507 insufficient_storage when it is full, with nothing half-written, and works again when there is room', async () => {
    const tab = await origin.openTab();
    await tab.ask('PUT', 'notes');
    await tab.ask('PUT', 'notes/a', { n: 1 });
    const full = vi.spyOn(IDBObjectStore.prototype, 'add').mockImplementation(() => {
      throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
    });
    const refused = await tab.ask('POST', 'notes/_bulk_docs', { docs: [{ _id: 'b' }, { _id: 'c' }] });
    expect(refused).toMatchObject({ status: 507, json: { error: 'insufficient_storage' } });
    expect(await tab.ask('GET', 'notes/b')).toMatchObject({ status: 404 });
    full.mockRestore();
    expect(await tab.ask('PUT', 'notes/c', { n: 1 })).toMatchObject({ status: 201 });
    expect((await tab.ask('GET', 'notes/_all_docs')).json.rows.map(({ id }: { id: string }) => id)).toEqual(['a', 'c']);
  });
});

describe("a tab that can't load the code that runs functions", () => {
  const gone = () => Promise.reject(new Error('it is gone'));

  it('gives the storage to a tab that was opened later, which answers', async () => {
    const old = origin.createTab(gone);
    await old.open();
    await old.ask('PUT', 'notes');
    await old.ask('PUT', 'notes/_design/d', { language: 'none', views: {} });
    const young = await origin.openTab();
    const answers = await Promise.all([
      young.ask('GET', 'notes/_design/d/_view/v'),
      old.ask('GET', 'notes/_design/d/_view/v'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([501, 501]);
    expect([await old.role(), await young.role()]).toEqual(['follower', 'owner']);
  });

  it('answers 503 if there is no other tab, or all are outdated', async () => {
    const first = origin.createTab(gone);
    await first.open();
    await first.ask('PUT', 'notes');
    await first.ask('PUT', 'notes/_design/d', { views: {} });
    const refusal = {
      status: 503,
      json: { error: 'functions_unavailable', reason: expect.stringContaining('it is gone') },
    };
    expect(await first.ask('GET', 'notes/_design/d/_view/v')).toMatchObject(refusal);
    expect(await first.role()).toBe('owner');
    const second = origin.createTab(gone);
    await second.open();
    expect(await first.ask('GET', 'notes/_design/d/_view/v')).toMatchObject(refusal);
    expect(await second.ask('GET', 'notes/_design/d/_view/v')).toMatchObject(refusal);
    expect(await second.ask('PUT', 'notes/a', {})).toMatchObject({ status: 201 });
  });
});

describe("an endpoint that can't be opened", () => {
  const options = { base: '/db/', protocol: PROTOCOL };
  const client = new FakeLocks().client();
  const host = {
    address: 'https://app.example/settee-worker.js',
    locks: client,
    indexedDB: new IDBFactory(),
    deferred,
  };

  it('reports that there is no IndexedDB', async () => {
    const endpoint = new WorkerEndpoint({ ...host, indexedDB: undefined });
    await expect(endpoint.open(options)).rejects.toThrow(/IndexedDB is not available/);
  });

  it('reports that there are no Web Locks', async () => {
    const endpoint = new WorkerEndpoint({ ...host, locks: undefined });
    await expect(endpoint.open(options)).rejects.toThrow(/Web Locks.*https/);
  });

  it('reports why IndexedDB refuses, and leaves the storage to others', async () => {
    const locks = new FakeLocks();
    const indexedDB = new IDBFactory();
    vi.spyOn(indexedDB, 'databases').mockRejectedValue(new DOMException('Not in this window', 'UnknownError'));
    vi.spyOn(console, 'info').mockImplementation(() => {});
    const endpoint = new WorkerEndpoint({ ...host, locks: locks.client(), indexedDB });
    await expect(endpoint.open(options)).rejects.toThrow(/Not in this window/);
    expect(locks.snapshot()).toEqual({ held: [], pending: [] });
  });

  it('opens once the storage can be opened, and requests wait meanwhile', async () => {
    const refuse = vi.spyOn(origin.indexedDB, 'databases');
    refuse.mockRejectedValueOnce(new DOMException('Not now', 'UnknownError'));
    refuse.mockRejectedValueOnce(new DOMException('Not now', 'UnknownError'));
    vi.spyOn(console, 'info').mockImplementation(() => {});
    const tab = origin.createTab();
    const opening = tab.open();
    expect(await tab.ask('PUT', 'notes')).toMatchObject({ status: 201 });
    await opening;
    expect(await tab.role()).toBe('owner');
  });

  it('reports that page and worker have different versions', async () => {
    const endpoint = new WorkerEndpoint(host);
    await expect(endpoint.open({ ...options, protocol: PROTOCOL + 1 })).rejects.toThrow(/reload/);
  });

  it('refuses an invalid base', async () => {
    await expect(new WorkerEndpoint(host).open({ ...options, base: '/db/?x' })).rejects.toThrow(/base/);
  });
});

describe('abort', () => {
  it('rejects requests that wait for another tab with AbortError', async () => {
    const first = await origin.openTab();
    const second = await origin.openTab();
    await first.ask('PUT', 'notes');
    const url = `${origin.instance.base}notes/_all_docs`;
    const answer = second.endpoint.handle({ method: 'GET', url, headers: {}, body: null }, 7);
    second.endpoint.abort(7);
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    expect(await second.ask('GET', 'notes')).toMatchObject({ status: 200 });
  });

  it('cancels a body in transit, and writes nothing', async () => {
    const tab = await origin.openTab();
    await tab.ask('PUT', 'notes');
    const parts = ['{"text":', '"half"}'];
    const cancel = vi.fn(async () => {});
    const pull = async () => {
      const part = parts.shift();
      if (parts.length === 0) {
        tab.endpoint.abort(7);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return part === undefined ? undefined : new TextEncoder().encode(part);
    };
    const answer = await tab.send('PUT', 'notes/a', {}, { pull, cancel }, 7).catch(() => undefined);
    expect(answer?.status).not.toBe(201);
    await vi.waitFor(() => expect(cancel).toHaveBeenCalled(), patient);
    expect(await tab.ask('GET', 'notes/a')).toMatchObject({ status: 404 });
  });
});
