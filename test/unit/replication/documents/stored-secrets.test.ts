/** What requests show of the secrets in `_replicator`, and credentials that change while a replication runs. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type JsonObject, ownMember } from '../../../../src/base/json/objects.ts';
import type { Network } from '../../../../src/core/core.ts';
import { createFetch } from '../../../../src/http/fetch-adapter.ts';
import { patient } from '../../../support/patience.ts';
import { Service, useServices } from './support.ts';

useServices();

const SECRET = 'hunter2';
/** Of a server that does not exist. */
const PUSH = { source: 'notes', target: `https://ana:${SECRET}@db.test/notes`, continuous: true };
const OFFLINE: Network = {
  fetch: async () => {
    throw new TypeError('fetch failed', {
      cause: Object.assign(new Error('getaddrinfo ENOTFOUND db.test'), { code: 'ENOTFOUND' }),
    });
  },
};
const JOE = { name: 'joe', roles: [] };
const STRICT = { retries_per_request: '0', max_replication_retry_count: '0' };
const ADMINS = { admins: { boss: 'secret' }, replicator: STRICT };
const BOSS = { name: 'boss', roles: ['_admin'] };

async function start(): Promise<Service> {
  const service = await Service.start(ADMINS, BOSS, OFFLINE);
  for (const name of ['_replicator', 'notes', 'copy']) await service.must(`PUT /${name}`);
  return service;
}

describe('no answer shows a secret', () => {
  const WAYS = [
    'GET /_replicator/push',
    'GET /_replicator/push?open_revs=all&revs=true',
    'GET /_replicator/_all_docs?include_docs=true',
    'GET /_replicator/_changes?include_docs=true&style=all_docs',
    'GET /_replicator/_design/app/_view/all?include_docs=true',
    'GET /_scheduler/docs',
    'GET /_scheduler/jobs',
    'GET /_active_tasks',
  ];

  test('to admins, to the owner, and to others, whatever they ask for', async () => {
    const service = await start();
    await service.must('PUT /_replicator/_security', { members: { names: [], roles: [] } });
    const map = 'function (doc) { emit(doc.target, doc); }';
    await service.must('PUT /_replicator/_design/app', { views: { all: { map } } });
    const document = { ...PUSH, user_ctx: { name: 'joe', roles: [] } };
    expect((await service.ask('PUT /_replicator/push', document, JOE)).status).toBe(201);
    const texts: string[] = [];
    for (const user of [BOSS, JOE, { name: 'eve', roles: [] }]) {
      for (const way of WAYS) texts.push(JSON.stringify((await service.ask(way, undefined, user)).json));
      for (const [way, body] of [
        ['POST /_replicator/_bulk_get', { docs: [{ id: 'push' }] }],
        ['POST /_replicator/_all_docs', { keys: ['push'], include_docs: true }],
        ['POST /_replicator/_find', { selector: { target: { $exists: true } } }],
      ] as const) {
        texts.push(JSON.stringify((await service.ask(way, body, user)).json));
      }
    }
    expect(texts.filter((text) => text.includes(SECRET))).toEqual([]);
    expect(texts.filter((text) => text.includes('-sealed-')).length).toBeGreaterThan(5);
    // Only the owner and admins see as much as that.
    expect(JSON.stringify(await service.ask('GET /_replicator/push', undefined, JOE))).toContain('-sealed-');
    expect(await service.ask('GET /_replicator/push', undefined, { name: 'eve', roles: [] })).toMatchObject({
      json: { target: 'https://db.test/notes' },
    });
  });

  test('of a copy of _replicator', async () => {
    const service = await start();
    await service.must('PUT /_replicator/push', PUSH);
    await service.must('POST /_replicate', { source: '_replicator', target: 'copy' });
    const copied = JSON.stringify(await service.must('GET /copy/push'));
    expect(copied).toContain('-sealed-');
    expect(copied).not.toContain(SECRET);
  });

  test('that came by a replication, or with a deletion', async () => {
    const service = await start();
    const docs = [{ ...PUSH, _id: 'push', _rev: '1-967a00dff5e02add41819138abb3284d' }];
    await service.ask('POST /_replicator/_bulk_docs', { docs, new_edits: false });
    expect(JSON.stringify(await service.read('push'))).not.toContain(SECRET);
    const { rev } = await service.must('PUT /_replicator/gone', { ...PUSH, _replication_state: 'completed' });
    const deleted = await service.must('PUT /_replicator/gone', { ...PUSH, _deleted: true, _rev: rev });
    const read = await service.must(`GET /_replicator/gone?rev=${String(ownMember(deleted, 'rev'))}`);
    expect(JSON.stringify(read)).not.toContain(SECRET);
  });
});

describe('a document that is read and written again', () => {
  test('keeps its secret', async () => {
    const { server, service } = await startBoth();
    await service.must('PUT /_replicator/push', { ...TO_SERVER, continuous: false });
    const document = await service.untilState('push', 'completed');
    await service.must('PUT /notes/more', {});
    const { _replication_state: _state, ...again } = document;
    await service.must('PUT /_replicator/push', again);
    await server.untilThere('more');
  });

  test('is refused if the address is another one, or the secret is copied elsewhere', async () => {
    const service = await start();
    await service.must('PUT /_replicator/push', PUSH);
    const isPaused = (document: JsonObject) => ownMember(document, '_replication_state_reason') !== undefined;
    const { _id, _rev, ...document } = await service.until('push', isPaused);
    const target = String(document['target']);
    const moved = await service.ask('PUT /_replicator/push', {
      ...document,
      _rev,
      target: target.replace('db.test', 'evil.test'),
    });
    const reason = (address: string) =>
      `The secret in \`target' (for ${address}) can't be read here: it was stored by another server, in another document, or for another owner, address or proxy. Write the secret itself in its place.`;
    expect(moved).toEqual({ status: 403, json: { error: 'forbidden', reason: reason('https://evil.test/notes') } });
    const copied = await service.ask('PUT /_replicator/other', document);
    expect(copied).toEqual({ status: 403, json: { error: 'forbidden', reason: reason('https://db.test/notes') } });
  });

  test('keeps its secret if an admin becomes the owner of a document that had none', async () => {
    const { server, service } = await startBoth();
    const docs = [{ ...TO_SERVER, continuous: false, _id: 'push', _rev: '1-967a00dff5e02add41819138abb3284d' }];
    await service.ask('POST /_replicator/_bulk_docs', { docs, new_edits: false });
    const { _replication_state: _state, ...again } = await service.untilState('push', 'completed');
    expect(again['owner']).toBeUndefined();
    await service.must('PUT /notes/more', {});
    await service.must('PUT /_replicator/push', again);
    await server.untilThere('more');
  });

  test('can not be used by another user after it was deleted', async () => {
    const service = await start();
    await service.must('PUT /_replicator/_security', { members: { names: [], roles: [] } });
    const of = ({ name }: { readonly name: string }) => ({ user_ctx: { name, roles: [] } });
    expect((await service.ask('PUT /_replicator/push', { ...PUSH, ...of(JOE) }, JOE)).status).toBe(201);
    const isPaused = (document: JsonObject) => ownMember(document, '_replication_state_reason') !== undefined;
    const { _rev, target } = await service.until('push', isPaused);
    expect((await service.ask(`DELETE /_replicator/push?rev=${_rev}`, undefined, JOE)).status).toBe(200);
    const eve = { name: 'eve', roles: [] };
    const taken = await service.ask('PUT /_replicator/push', { source: target, target: 'copy', ...of(eve) }, eve);
    expect(taken).toMatchObject({ status: 403, json: { error: 'forbidden' } });
  });

  test('fails if the secret is of another server', async () => {
    const service = await start();
    const other = await start();
    await other.must('PUT /_replicator/push', PUSH);
    const docs = [await other.read('push')];
    await service.ask('POST /_replicator/_bulk_docs', { docs, new_edits: false });
    const failed = await service.untilState('push', 'error');
    expect(ownMember(failed, '_replication_state_reason')).toMatch(/^The secret in `target' .* can't be read here/);
  });
});

test('a secret is still known after a restart', async () => {
  const { server, service } = await startBoth();
  await service.must('PUT /_replicator/push', TO_SERVER);
  await server.untilThere('one');
  await service.restart();
  await service.must('PUT /notes/later', {});
  await server.untilThere('later');
});

const TO_SERVER = { source: 'notes', target: { url: 'http://db.test/notes', auth: basic('pw') }, continuous: true };

function basic(password: string) {
  return { basic: { username: 'ana', password } };
}

/** A server that only ana may use. */
class Server {
  password = 'pw';
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  readonly network: Network = {
    isBrowserFetch: true,
    fetch: async (input, init = {}) => {
      const headers = new Headers(init.headers);
      const isKnown = headers.get('authorization') === `Basic ${btoa(`ana:${this.password}`)}`;
      if (!isKnown) return Response.json({ error: 'unauthorized', reason: 'Wrong.' }, { status: 401 });
      headers.delete('authorization');
      const request = new Request(String(input), Object.assign({ ...init, headers }, { duplex: 'half' }));
      return createFetch(this.#service.core.handle)(request);
    },
  };

  untilThere(id: string): Promise<JsonObject> {
    return this.#service.untilRead('notes', id, () => true);
  }
}

async function startBoth(): Promise<{ server: Server; service: Service }> {
  const remote = await Service.start();
  await remote.must('PUT /notes');
  const server = new Server(remote);
  const service = await Service.start({ replicator: STRICT }, undefined, server.network);
  for (const path of ['/_replicator', '/notes']) await service.must(`PUT ${path}`);
  await service.must('PUT /notes/one', {});
  return { server, service };
}

describe('other credentials in the document of a replication that runs', () => {
  async function running(): Promise<{ server: Server; service: Service; document: JsonObject; job: JsonObject }> {
    const { server, service } = await startBoth();
    await service.must('PUT /_replicator/push', TO_SERVER);
    await server.untilThere('one');
    const document = await service.untilState('push', 'triggered');
    return { server, service, document, job: await jobOf(service) };
  }

  async function jobOf(service: Service): Promise<JsonObject> {
    const jobs = ownMember(await service.must('GET /_scheduler/jobs'), 'jobs');
    return Object(Array.isArray(jobs) ? jobs[0] : undefined);
  }

  test('are used by the same replication, which goes on from its checkpoint', async () => {
    const { server, service, document, job } = await running();
    server.password = 'other';
    const target = { ...TO_SERVER.target, auth: basic('other') };
    await service.must('PUT /_replicator/push', { ...document, target });
    await service.must('PUT /notes/later', {});
    await server.untilThere('later');
    const now = await jobOf(service);
    expect(now).toMatchObject({
      id: ownMember(job, 'id'),
      pid: ownMember(job, 'pid'),
      start_time: ownMember(job, 'start_time'),
    });
    expect(JSON.stringify(await service.read('push'))).not.toContain('"other"');
    const triggered = await service.untilState('push', 'triggered');
    expect(ownMember(triggered, '_replication_id')).toBe(ownMember(document, '_replication_id'));
  });

  test('restart a replication that has given up', async () => {
    const { server, service } = await startBoth();
    const wrong = { ...TO_SERVER, target: { ...TO_SERVER.target, auth: basic('wrong') } };
    await service.must('PUT /_replicator/push', wrong);
    const failed = await service.untilState('push', 'error');
    await service.must('PUT /_replicator/push', { ...failed, target: TO_SERVER.target });
    await server.untilThere('one');
    await service.untilState('push', 'triggered');
  });

  test('are all that can be changed in it', async () => {
    const { service, document } = await running();
    const refusal = {
      error: 'forbidden',
      reason: 'Only the replicator can edit replication documents that are in the triggered state.',
    };
    for (const changed of [
      document,
      { ...document, continuous: false },
      { ...document, target: { ...TO_SERVER.target, url: 'http://db.test/other' } },
    ]) {
      expect(await service.ask('PUT /_replicator/push', changed)).toEqual({ status: 403, json: refusal });
    }
  });
});

/** A host without WebCrypto stores secrets as an earlier release did, which encrypted none. */
describe('a document that an earlier release stored', () => {
  afterEach(() => void vi.unstubAllGlobals());

  function useEarlierRelease(): void {
    const { crypto } = globalThis;
    vi.stubGlobal('crypto', {
      randomUUID: () => crypto.randomUUID(),
      getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes),
    });
  }

  const PLAIN = 'ana:pw@';
  const FOR_ANA = { source: 'notes', target: 'http://ana:pw@db.test/notes' };

  async function startEarlier() {
    const remote = await Service.start();
    await remote.must('PUT /notes');
    const server = new Server(remote);
    const service = await Service.start({ ...ADMINS, replicator: STRICT }, BOSS, server.network);
    useEarlierRelease();
    for (const path of ['/_replicator', '/notes']) await service.must(`PUT ${path}`);
    await service.must('PUT /_replicator/_security', { members: { names: [], roles: [] } });
    await service.must('PUT /notes/one', {});
    return { server, service };
  }

  async function restartWithThisRelease(service: Service): Promise<void> {
    vi.unstubAllGlobals();
    await service.restart();
  }

  const isSealed = (document: JsonObject) => String(document['target']).includes('-sealed-');

  test('is carried out, and encrypted when the service starts', async () => {
    const { server, service } = await startEarlier();
    await service.must('PUT /_replicator/push', { ...FOR_ANA, continuous: true });
    await server.untilThere('one');
    const before = await service.untilState('push', 'triggered');
    expect(before['target']).toBe(FOR_ANA.target);
    await restartWithThisRelease(service);
    await service.must('PUT /notes/later', {});
    await server.untilThere('later');
    const after = await service.until('push', isSealed);
    expect(after).toMatchObject({ owner: 'boss', continuous: true, _replication_id: before['_replication_id'] });
    expect(after['target']).toMatch(/^http:\/\/ana:-sealed-[\w-]+@db\.test\/notes$/);
    // Its secret is known to the next start, too.
    await service.restart();
    await service.must('PUT /notes/last', {});
    await server.untilThere('last');
  });

  test('that is done, or can not be understood, is encrypted as well, and stays what it is', async () => {
    const { service } = await startEarlier();
    await service.must('PUT /_replicator/done', { ...FOR_ANA });
    const { _rev: _, ...done } = await service.untilState('done', 'completed');
    await service.must('PUT /_replicator/wrong', { ...FOR_ANA, filter: 'a/b', doc_ids: ['one'] });
    await service.untilState('wrong', 'error');
    await restartWithThisRelease(service);
    const { _rev: __, target, ...after } = await service.until('done', isSealed);
    expect(after).toEqual(Object.fromEntries(Object.entries(done).filter(([name]) => name !== 'target')));
    expect(String(target)).not.toContain('pw');
    expect(await service.until('wrong', isSealed)).toMatchObject({ _replication_state: 'error' });
  });

  test('keeps its secret when a user writes it next', async () => {
    const { server, service } = await startEarlier();
    await service.must('PUT /_replicator/done', FOR_ANA);
    await service.untilState('done', 'completed');
    await restartWithThisRelease(service);
    const { _replication_state: _, ...again } = await service.until('done', isSealed);
    await service.must('PUT /notes/later', {});
    await service.must('PUT /_replicator/done', again);
    await server.untilThere('later');
    expect(isSealed(await service.untilState('done', 'completed'))).toBe(true);
  });

  test('shows its secret to nobody any more, but in the former revision, which a compaction removes', async () => {
    const { service } = await startEarlier();
    await service.must('PUT /_replicator/done', { ...FOR_ANA, user_ctx: JOE, owner: 'joe' });
    await service.must('PUT /_replicator/_design/app', {
      views: { all: { map: 'function (doc) { emit(doc.target, doc); }' } },
    });
    const { _rev: former } = await service.until(
      'done',
      (document) => ownMember(document, '_replication_state') !== undefined,
    );
    await restartWithThisRelease(service);
    await service.until('done', isSealed);
    const eve = { name: 'eve', roles: [] };
    const texts: string[] = [];
    for (const user of [BOSS, JOE, eve]) {
      for (const way of [
        'GET /_replicator/done?revs=true&revs_info=true',
        'GET /_replicator/done?open_revs=all',
        'GET /_replicator/_all_docs?include_docs=true',
        'GET /_replicator/_changes?include_docs=true&style=all_docs',
        'GET /_replicator/_design/app/_view/all?include_docs=true',
        'GET /_scheduler/docs',
      ]) {
        texts.push(JSON.stringify((await service.ask(way, undefined, user)).json));
      }
    }
    expect(texts.filter((text) => text.includes(PLAIN))).toEqual([]);
    const read = `GET /_replicator/done?rev=${String(former)}`;
    expect(await service.ask(read, undefined, JOE)).toMatchObject({ json: { target: FOR_ANA.target } });
    expect(await service.ask(read, undefined, eve)).toMatchObject({ json: { target: 'http://db.test/notes' } });
    await service.must('POST /_replicator/_compact');
    await expect.poll(() => service.ask(read), patient).toMatchObject({ status: 404 });
  });
});

test('a document with more headers than a replication can use is refused, and the others of its request are stored', async () => {
  const service = await start();
  const headers = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-${index}`, 'a']));
  const many = { _id: 'many', source: 'notes', target: { url: 'https://db.test/notes', headers } };
  const auth = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`x-${index}`, { a: {} }]));
  const nested = { _id: 'nested', source: 'notes', target: { url: 'https://db.test/notes', auth } };
  const docs = [many, { ...PUSH, _id: 'push' }, nested];
  const written = await service.ask('POST /_replicator/_bulk_docs', { docs });
  expect(written.json).toMatchObject([
    {
      id: 'many',
      error: 'too_large',
      reason: 'A replication document may have at most 100 members in its headers and auth.',
    },
    { ok: true, id: 'push' },
    { id: 'nested', error: 'too_large' },
  ]);
});
