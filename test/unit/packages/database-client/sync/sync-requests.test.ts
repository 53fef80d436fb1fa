import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Fetch } from '../../../../../src/packages/database-client/contract.ts';
import {
  database,
  SetteeError,
  type Sync,
  type SyncOptions,
  sync,
} from '../../../../../src/packages/database-client/index.ts';
import { patient } from '../../../../support/patience.ts';
import { type Asked, closing, FakeService, recordEvents } from './support.ts';

const PUSH = 'sync:push:notes:https://app.example/db/notes';
const PULL = 'sync:pull:notes:https://app.example/db/notes';
const NOTHING_COPIED = { docs_read: 0, docs_written: 0, doc_write_failures: 0, refused_count: 0, refused: [] };

let service: FakeService;

beforeEach(() => {
  vi.useFakeTimers();
  service = new FakeService();
});
afterEach(() => {
  vi.useRealTimers();
});

function begin(options?: SyncOptions, url = 'https://app.example/db/notes'): Sync {
  return closing(sync(database(service.fetch, 'http://app.local/notes'), url, options));
}

async function begun(options?: SyncOptions): Promise<Sync> {
  const started = begin(options);
  await started.ready;
  return started;
}

const linesOf = (asked: readonly Asked[]) => asked.map(({ method, path }) => `${method} ${path}`);

describe('sync() requests', () => {
  test('a replication for each direction, which goes on, without design documents', async () => {
    await begun();
    expect(linesOf(service.asked)).toEqual([
      'PUT /notes?if-missing=true',
      'GET /_session',
      `GET /_replicator/${PUSH}`,
      `PUT /_replicator/${PUSH}`,
      'GET /_session',
      `GET /_replicator/${PULL}`,
      `PUT /_replicator/${PULL}`,
    ]);
    const url = 'https://app.example/db/notes';
    expect(Object.fromEntries(service.documents)).toEqual({
      [PUSH]: { _id: PUSH, _rev: '1-x', source: 'notes', target: url, continuous: true, design_docs: false },
      [PULL]: { _id: PULL, _rev: '2-x', source: url, target: 'notes', continuous: true, design_docs: false },
    });
  });

  test('what the options say', async () => {
    await begun({
      live: false,
      auth: { session: true },
      headers: { 'x-tenant': 'a' },
      create_target: true,
      selector: { owner: 'ana' },
      push: { filter: 'app/mine', query_params: { of: 'ana' }, design_docs: true },
    });
    const remote = { url: 'https://app.example/db/notes', auth: { session: true }, headers: { 'x-tenant': 'a' } };
    expect(service.documents.get(PUSH)).toEqual({
      ...{ _id: PUSH, _rev: '1-x', source: 'notes', target: remote, continuous: false, create_target: true },
      ...{ filter: 'app/mine', query_params: { of: 'ana' }, design_docs: true },
    });
    expect(service.documents.get(PULL)).toEqual({
      ...{ _id: PULL, _rev: '2-x', source: remote, target: 'notes', continuous: false },
      ...{ selector: { owner: 'ana' }, design_docs: false },
    });
  });

  test('one direction only', async () => {
    const pull = await begun({ direction: 'pull' });
    expect([...service.documents.keys()]).toEqual([PULL]);
    expect(pull.status()).toEqual({ state: 'pending', pull: { state: 'pending', ...NOTHING_COPIED } });
  });

  test('with the name and the roles of a user who is no admin', async () => {
    service.userCtx = { name: 'ana', roles: ['editor'] };
    await begun({ direction: 'push' });
    expect(service.documents.get(PUSH)).toMatchObject({ user_ctx: { name: 'ana', roles: ['editor'] } });
  });

  test('with an id without secrets and slashes at the end', async () => {
    begin({ direction: 'push' }, 'https://ana:secret@app.example/db/notes/#here');
    await vi.waitFor(() => expect(service.documents.size).toBe(1), patient);
    expect(service.documents.get(PUSH)).toMatchObject({ target: 'https://ana:secret@app.example/db/notes' });
  });

  test('nothing of what is no URL of a database', () => {
    for (const url of ['/db/notes', 'ftp://app.example/notes', 'https://app.example/', 'notes']) {
      expect(() => begin({}, url)).toThrow(
        new TypeError(`${url} is not the URL of a database, such as https://app.example/db/notes`),
      );
    }
  });
});

describe('a second call', () => {
  const revisions = () => [...service.documents.values()].map(({ _rev }) => _rev);

  test('finds what runs, and changes nothing', async () => {
    const options = { selector: { owner: 'ana' }, auth: { session: true } } as const;
    await begun(options);
    service.documents.set(PULL, {
      ...service.documents.get(PULL),
      // In another order, with what a service adds.
      source: { auth: { session: true }, url: 'https://app.example/db/notes' },
      owner: null,
      _replication_state: 'triggered',
    });
    await begun(options);
    expect(revisions()).toEqual(['1-x', '2-x']);
  });

  test('writes secrets again that the service does not show, and leaves the rest', async () => {
    const url = 'https://ana:old@app.example/db/notes';
    const both = { headers: { 'x-api-key': 'k' } };
    const shown = { url: 'https://ana:-sealed-Jd83_x@app.example/db/notes', headers: { 'x-api-key': '-sealed-0a1b' } };
    await begin(both, url).ready;
    for (const [id, end] of [
      [PUSH, 'target'],
      [PULL, 'source'],
    ] as const) {
      service.documents.set(id, { ...service.documents.get(id), [end]: shown, _replication_state: 'triggered' });
    }
    await begin(both, url.replace('old', 'new')).ready;
    expect(revisions()).toEqual(['3-x', '4-x']);
    expect(linesOf(service.asked).filter((line) => line.startsWith('DELETE'))).toEqual([]);
    expect(service.documents.get(PULL)).toMatchObject({
      source: { url: 'https://ana:new@app.example/db/notes', headers: { 'x-api-key': 'k' } },
      _replication_state: 'triggered',
    });
    service.documents.set(PUSH, { ...service.documents.get(PUSH), target: shown });
    await begin(both, url.replace('ana', 'bob')).ready;
    expect(linesOf(service.asked)).toContain(`DELETE /_replicator/${PUSH}?rev=3-x`);
  });

  test.each<[string, SyncOptions]>([
    ['another selector', { selector: { owner: 'bob' } }],
    ['no selector', {}],
    ['an end', { selector: { owner: 'ana' }, live: false }],
    ['credentials', { selector: { owner: 'ana' }, auth: { session: true } }],
  ])('with %s replaces the documents', async (_, options) => {
    await begun({ selector: { owner: 'ana' } });
    await begun(options);
    expect(revisions()).toEqual(['3-x', '4-x']);
    expect(linesOf(service.asked)).toContain(`DELETE /_replicator/${PUSH}?rev=1-x`);
  });

  test.each(['error', 'completed'])('begins again what is in the state %s', async (state) => {
    await begun();
    service.documents.set(PULL, { ...service.documents.get(PULL), _replication_state: state });
    await begun();
    expect(revisions()).toEqual(['1-x', '3-x']);
  });
});

describe('while the local service', () => {
  test('is not available, sync() tries again', async () => {
    service.fault = () => 503;
    const late = begin();
    const events = recordEvents(late);
    await vi.waitFor(() => expect(events).toEqual(['error push', 'error pull']), patient);
    const failed = {
      state: 'error',
      ...NOTHING_COPIED,
      last_error: { error: 'fault', reason: 'no' },
      next_attempt: expect.any(String),
    };
    expect(late.status()).toEqual({ state: 'error', push: failed, pull: failed });
    service.fault = undefined;
    await vi.advanceTimersByTimeAsync(1_000);
    await late.ready;
    expect(service.documents.size).toBe(2);
  });

  test('refuses, it says so, until retry()', async () => {
    service.fault = ({ method, path }) => (method === 'PUT' && path.startsWith('/_replicator/') ? 401 : undefined);
    const refused = begin({ direction: 'push' });
    await expect(refused.ready).rejects.toThrow(SetteeError);
    expect(refused.status()).toMatchObject({ state: 'unauthorized', push: { last_error: { error: 'unauthorized' } } });
    service.fault = undefined;
    service.entries.set(PUSH, { id: 'x', state: 'running', info: { changes_pending: 0 } });
    await refused.retry();
    expect(refused.status().state).toBe('paused');
  });
});

describe('a sync', () => {
  const show = (state: string, info: object | null = null, id: string | null = 'x') => {
    for (const document of [PUSH, PULL]) service.entries.set(document, { id, state, info });
  };

  test('follows the states of its replications', async () => {
    show('running', { changes_pending: 5, revisions_checked: 0, docs_read: 0, docs_written: 0 });
    const followed = await begun();
    const events = recordEvents(followed);
    await vi.advanceTimersByTimeAsync(200);
    expect(followed.status()).toMatchObject({ state: 'active', pull: { progress: { done: 0, total: 5 }, pending: 5 } });
    show('running', { changes_pending: 2, revisions_checked: 3, docs_read: 3, docs_written: 3 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(followed.status().pull).toMatchObject({ progress: { done: 3, total: 5 }, docs_written: 3 });
    const refused = [{ id: 'a', rev: '1-a', error: 'forbidden', reason: 'no' }];
    show('running', { changes_pending: 0, docs_read: 5, docs_written: 4, refused_count: 1, refused });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(followed.status()).toMatchObject({ state: 'denied', push: { refused } });
    show('paused', { error: 'offline: no route', docs_written: 4, refused_count: 1, refused });
    service.change();
    await vi.advanceTimersByTimeAsync(1_000);
    show('running', { changes_pending: 3, docs_written: 4, refused_count: 1, refused });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(followed.status().pull).not.toHaveProperty('progress');
    expect(events.filter((event) => event.endsWith('push'))).toEqual([
      'active push',
      'change push',
      'change push',
      'denied push',
      'paused push',
      'offline push',
      'active push',
    ]);
  });

  test('asks once in 15 seconds while nothing happens, and at the next attempt', async () => {
    show('running', { changes_pending: 0 });
    const followed = await begun({ direction: 'push' });
    await vi.advanceTimersByTimeAsync(20_000);
    service.asked.splice(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(linesOf(service.asked)).toEqual(Array(4).fill(`GET /_scheduler/docs/_replicator/${PUSH}`));
    const next_attempt = new Date(Date.now() + 20_000).toISOString();
    show('crashing', { error: 'replication_failed: no', next_attempt });
    await vi.advanceTimersByTimeAsync(15_000);
    expect(followed.status()).toMatchObject({ state: 'error', push: { next_attempt } });
    show('running', { changes_pending: 0 });
    await vi.advanceTimersByTimeAsync(6_000);
    expect(followed.status().state).toBe('paused');
  });

  test('goes on after a change that comes while an answer is late', async () => {
    show('running', { changes_pending: 5 });
    let late = Promise.resolve();
    const fetch: Fetch = async (address, init) => {
      const response = await service.fetch(address, init);
      if (address.includes('/_scheduler/')) await late;
      return response;
    };
    const followed = closing(sync(database(fetch, 'http://app.local/notes'), 'https://app.example/db/notes'));
    await followed.ready;
    await vi.advanceTimersByTimeAsync(200);
    expect(followed.status().state).toBe('active');
    let arrive = () => {};
    late = new Promise((resolve) => {
      arrive = resolve;
    });
    await vi.advanceTimersByTimeAsync(1_000);
    service.change();
    await vi.advanceTimersByTimeAsync(5_000);
    show('running', { changes_pending: 0 });
    arrive();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(followed.status().state).toBe('paused');
  });

  test('does not ask more often when the clock is set back', async () => {
    show('running', { changes_pending: 0 });
    await begun({ direction: 'push' });
    await vi.advanceTimersByTimeAsync(20_000);
    service.change();
    await vi.advanceTimersByTimeAsync(200);
    vi.setSystemTime(Date.now() - 3 * 24 * 3_600_000);
    await vi.advanceTimersByTimeAsync(20_000);
    service.asked.splice(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(linesOf(service.asked)).toEqual(Array(4).fill(`GET /_scheduler/docs/_replicator/${PUSH}`));
  });

  test('keeps its status while there is no answer', async () => {
    show('running', { changes_pending: 0 });
    const followed = await begun();
    await vi.advanceTimersByTimeAsync(200);
    const status = followed.status();
    service.fault = () => 503;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(followed.status()).toBe(status);
  });

  test('asks the documents if the user may not read the list', async () => {
    service.fault = ({ path }) => (path.startsWith('/_scheduler') ? 401 : undefined);
    const followed = await begun();
    service.documents.set(PUSH, { ...service.documents.get(PUSH), _replication_state: 'triggered' });
    await vi.advanceTimersByTimeAsync(200);
    expect(followed.status()).toMatchObject({ push: { state: 'active' }, pull: { state: 'pending' } });
  });

  test('is complete when both directions are', async () => {
    const once = await begun({ live: false });
    const events = recordEvents(once);
    show('completed', { docs_written: 1 });
    service.entries.set(PULL, { id: 'x', state: 'running', info: null });
    await vi.advanceTimersByTimeAsync(200);
    expect(events).toEqual(['change push', 'active pull']);
    show('completed', { docs_written: 1 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(events.slice(2)).toEqual(['change pull', 'complete']);
  });

  test('that is retried attaches to what waits, and copies what was refused', async () => {
    const refused = [{ id: 'a', rev: '1-a', error: 'forbidden', reason: 'no' }];
    show('running', { changes_pending: 0 }, 'pull+continuous');
    service.entries.set(PUSH, {
      ...{ id: 'push+continuous', state: 'paused' },
      info: { error: 'offline: no route', refused_count: 1, refused },
    });
    const followed = await begun({ auth: { session: true } });
    await vi.advanceTimersByTimeAsync(200);
    service.asked.splice(0);
    await followed.retry();
    expect(service.asked.filter(({ path }) => path === '/_replicate').map(({ body }) => body)).toEqual([
      {
        source: 'notes',
        target: { url: 'https://app.example/db/notes', auth: { session: true } },
        continuous: true,
        design_docs: false,
      },
      { retry_refused: true, replication_id: 'push+continuous' },
    ]);
  });

  test('that is retried says how it went, even if that takes so long that the answer breaks off', async () => {
    show('paused', { error: 'offline: no route' });
    const fetch: Fetch = async (address, init) => {
      if (!address.endsWith('/_replicate')) return service.fetch(address, init);
      show('crashing', { error: 'replication_failed: no' });
      return new Response(new ReadableStream({ start: (body) => body.error(new TypeError('terminated')) }));
    };
    const followed = closing(sync(database(fetch, 'http://app.local/notes'), 'https://app.example/db/notes'));
    await followed.ready;
    await vi.advanceTimersByTimeAsync(200);
    expect(followed.status().state).toBe('offline');
    await followed.retry();
    expect(followed.status().state).toBe('error');
  });

  test('that is stopped deletes its documents, and reports nothing more', async () => {
    show('running', { changes_pending: 0 });
    const stopped = await begun();
    await vi.advanceTimersByTimeAsync(200);
    const events = recordEvents(stopped);
    await stopped.stop();
    expect([...service.documents]).toEqual([]);
    expect(events).toEqual(['stopped']);
    expect(stopped.status()).toEqual({
      state: 'stopped',
      push: { state: 'stopped', ...NOTHING_COPIED },
      pull: { state: 'stopped', ...NOTHING_COPIED },
    });
    service.asked.splice(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(service.asked).toEqual([]);
  });

  test('that is stopped while it is retried leaves nothing behind', async () => {
    show('failed', { error: 'unknown_error: no' });
    const stopped = await begun();
    await vi.advanceTimersByTimeAsync(200);
    const retried = stopped.retry();
    await stopped.stop();
    await retried;
    expect([...service.documents]).toEqual([]);
    expect(linesOf(service.asked)).not.toContain('POST /_replicate');
    expect(stopped.status().state).toBe('stopped');
  });

  test('of which one direction cannot be stopped stops the other one, and can be stopped again', async () => {
    const stopped = await begun();
    service.fault = ({ method, path }) => (method === 'DELETE' && path.includes(PUSH) ? 503 : undefined);
    await expect(stopped.stop()).rejects.toBeInstanceOf(SetteeError);
    expect([...service.documents.keys()]).toEqual([PUSH]);
    service.fault = undefined;
    await stopped.stop();
    expect([...service.documents.keys()]).toEqual([]);
    expect(stopped.status().state).toBe('stopped');
  });

  test('that is stopped before the service is there requests nothing', async () => {
    service.fault = () => 503;
    const stopping = begin();
    await vi.advanceTimersByTimeAsync(500);
    const stopped = stopping.stop();
    service.fault = undefined;
    service.asked.splice(0);
    await vi.advanceTimersByTimeAsync(60_000);
    await stopped;
    expect(linesOf(service.asked)).toEqual([`GET /_replicator/${PUSH}`, `GET /_replicator/${PULL}`]);
  });

  test('that is closed reports nothing more, and goes on', async () => {
    show('running', { changes_pending: 0 });
    const closed = await begun();
    await vi.advanceTimersByTimeAsync(200);
    const events = recordEvents(closed);
    closed.close();
    show('running', { changes_pending: 1 });
    service.asked.splice(0);
    service.change();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([service.asked, events]).toEqual([[], []]);
    expect(service.documents.size).toBe(2);
  });
});
