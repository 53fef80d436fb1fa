/**
 * Fauxton, CouchDB's administration page, as the requests that it sends (versions 1.2 and 1.3): its package on npm brings some 80 others. Each test is
 * one of its screens.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../src/node/server/server.ts';
import { arrayAt, at, numberAt, stringAt } from '../../support/conformance/json.ts';
import { patient } from '../../support/patience.ts';

let server: RunningServer;
/** Of the session that the page has by its login. */
let cookie: string;

beforeEach(async () => {
  const config = { admins: { root: 'secret' } };
  server = await startServer({ port: 0, memory: true, onLog: () => {}, config });
  cookie = '';
  const login = await exchange('POST', '_session', { name: 'root', password: 'secret' });
  cookie = login.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
});
afterEach(() => server.close());

function exchange(method: string, path: string, json?: unknown, more: Readonly<Record<string, string>> = {}) {
  const headers = { accept: 'application/json', 'content-type': 'application/json', cookie, ...more };
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  return fetch(`${server.url}${path}`, { method, headers, ...body });
}

async function ask(method: string, path: string, json?: unknown): Promise<unknown> {
  return (await exchange(method, path, json)).json();
}

async function fill(): Promise<void> {
  await ask('PUT', 'books');
  const docs = Array.from({ length: 25 }, (_, at) => ({ _id: `book-${String(at).padStart(2, '0')}`, pages: at }));
  await ask('POST', 'books/_bulk_docs', { docs });
}

describe('Fauxton', () => {
  test('"Verify" passes', async () => {
    for (const name of ['verifytestdb', 'verifytestdb_replicate'])
      expect((await exchange('GET', name)).status).toBe(404);
    expect((await exchange('PUT', 'verifytestdb')).status).toBe(201);
    const rev = stringAt(await ask('PUT', 'verifytestdb/test_doc_1', { _id: 'test_doc_1', a: 1 }), 'rev');
    const next = stringAt(
      await ask('PUT', 'verifytestdb/test_doc_1', { _id: 'test_doc_1', _rev: rev, a: 1, b: 'hello' }),
      'rev',
    );
    expect(await ask('DELETE', `verifytestdb/test_doc_1?rev=${next}`)).toMatchObject({ ok: true, id: 'test_doc_1' });
    const map = 'function (doc) { emit(doc._id, doc.a); }';
    await Promise.all([
      ...[1, 2, 3].map((a) => ask('PUT', `verifytestdb/test_doc_${a}0`, { _id: `test_doc_${a}0`, a })),
      ask('PUT', 'verifytestdb/_design/view_check', {
        _id: '_design/view_check',
        views: { testview: { map, reduce: '_sum' } },
      }),
    ]);
    expect(at(await ask('GET', 'verifytestdb/_design/view_check/_view/testview'), 'rows', 0, 'value')).toBe(6);
    const asked = { create_target: true, source: 'verifytestdb', target: 'verifytestdb_replicate' };
    expect(await ask('POST', '_replicate', asked)).toMatchObject({ ok: true });
    expect(at(await ask('GET', 'verifytestdb_replicate'), 'doc_count')).toBe(4);
    for (const name of ['verifytestdb_replicate', 'verifytestdb'])
      expect(await ask('DELETE', name)).toEqual({ ok: true });
  });

  test('begins with the session, and ends it', async () => {
    expect(await ask('GET', '_session')).toMatchObject({ ok: true, userCtx: { name: 'root', roles: ['_admin'] } });
    expect(await ask('DELETE', '_session', { username: '_', password: '_' })).toEqual({ ok: true });
    cookie = '';
    expect(await ask('GET', '_session')).toMatchObject({ userCtx: { name: null, roles: [] } });
  });

  test('lists databases by pages, and finds one by the beginning of its name', async () => {
    await fill();
    await ask('PUT', 'bookings');
    await ask('PUT', 'library%2Fold');
    const names = arrayAt(await ask('GET', '_all_dbs')).map(String);
    expect(names).toEqual(expect.arrayContaining(['bookings', 'books', 'library/old']));
    const infos = await Promise.all(names.map((name) => ask('GET', encodeURIComponent(name))));
    expect(infos.map((info) => at(info, 'db_name'))).toEqual(names);
    for (const info of infos) expect(numberAt(info, 'sizes', 'active')).toBeGreaterThanOrEqual(0);
    const range = `startkey=${encodeURIComponent('"book"')}&endkey=${encodeURIComponent('"book\u9999"')}`;
    expect(await ask('GET', `_all_dbs?${range}&limit=30`)).toEqual(['bookings', 'books']);
  });

  test('shows documents by pages with one row more, design documents, and how large an index is', async () => {
    await fill();
    const views = { pages: { map: 'function (doc) { emit(doc.pages, null); }', reduce: '_count' } };
    await ask('PUT', 'books/_design/by', { views });
    const page = await ask('GET', 'books/_all_docs?include_docs=true&conflicts=true&limit=21&skip=0');
    expect(arrayAt(page, 'rows')).toHaveLength(21);
    expect(at(page, 'total_rows')).toBe(26);
    const second = await ask('GET', 'books/_all_docs?include_docs=true&conflicts=true&limit=21&skip=20');
    expect(arrayAt(second, 'rows').map((row) => at(row, 'id'))).toEqual([
      'book-19',
      ...[20, 21, 22, 23, 24].map((n) => `book-${n}`),
    ]);
    const designs = await ask(
      'GET',
      'books/_all_docs?startkey=%22_design%2F%22&endkey=%22_design0%22&include_docs=true&limit=500',
    );
    expect(arrayAt(designs, 'rows').map((row) => at(row, 'doc', 'views'))).toEqual([views]);
    const rows = await ask(
      'GET',
      'books/_design/by/_view/pages?include_docs=true&conflicts=true&limit=21&reduce=false&stable=true&update=true',
    );
    expect(arrayAt(rows, 'rows').map((row) => at(row, 'key'))).toEqual(Array.from({ length: 21 }, (_, at) => at));
    expect(await ask('GET', 'books/_design/by/_info')).toMatchObject({
      name: 'by',
      view_index: { language: 'javascript' },
    });
    expect(arrayAt(await ask('GET', '_uuids?count=10'), 'uuids')).toHaveLength(10);
  });

  test('copies, deletes and uploads', async () => {
    await fill();
    const copied = await exchange('COPY', 'books/book-01', undefined, { destination: 'copy' });
    expect(copied.status).toBe(201);
    const rows = arrayAt(await ask('GET', 'books/_all_docs?limit=3'), 'rows');
    const docs = rows.map((row) => ({ _id: at(row, 'id'), _rev: at(row, 'value', 'rev'), _deleted: true }));
    const deleted = arrayAt(await ask('POST', 'books/_bulk_docs', { docs }));
    expect(deleted.map((row) => at(row, 'ok'))).toEqual([true, true, true]);
    const rev = stringAt(await ask('GET', 'books/copy'), '_rev');
    const upload = await fetch(`${server.url}books/copy/cover.txt?rev=${rev}`, {
      method: 'PUT',
      headers: { cookie, 'content-type': 'text/plain' },
      body: 'a cover',
    });
    expect(upload.status).toBe(201);
    expect(await ask('GET', 'books/copy')).toMatchObject({ _attachments: { 'cover.txt': { length: 7, stub: true } } });
  });

  test('shows the leaves of a document in conflict, and deletes all but the chosen one', async () => {
    await ask('PUT', 'books');
    const docs = ['a', 'b', 'c'].map((digit) => ({ _id: 'x', _rev: `1-${digit.repeat(32)}`, from: digit }));
    await ask('POST', 'books/_bulk_docs', { docs, new_edits: false });
    expect(at(await ask('GET', 'books/x?conflicts=true'), '_conflicts')).toEqual([
      `1-${'b'.repeat(32)}`,
      `1-${'a'.repeat(32)}`,
    ]);
    const leaves = arrayAt(await ask('GET', 'books/x?revs=true&open_revs=all'));
    expect(leaves.map((leaf) => at(leaf, 'ok', 'from')).sort()).toEqual(['a', 'b', 'c']);
    const losers = ['b', 'c'].map((digit) => ({ _id: 'x', _rev: `1-${digit.repeat(32)}`, _deleted: true }));
    await ask('POST', 'books/_bulk_docs', { docs: losers });
    const kept = await ask('GET', 'books/x?conflicts=true');
    expect(kept).toMatchObject({ from: 'a' });
    expect(kept).not.toHaveProperty('_conflicts');
  });

  test('queries, explains, and deletes indexes together', async () => {
    await fill();
    const index = { index: { fields: ['pages'] }, name: 'pages-json-index', type: 'json' };
    expect(await ask('POST', 'books/_index', index)).toMatchObject({ result: 'created', name: 'pages-json-index' });
    const query = { selector: { pages: { $gt: 21 } }, limit: 21, skip: 0, execution_stats: true };
    const found = await ask('POST', 'books/_find', query);
    expect(arrayAt(found, 'docs').map((doc) => at(doc, 'pages'))).toEqual([22, 23, 24]);
    expect(at(found, 'execution_stats', 'results_returned')).toBe(3);
    expect(await ask('POST', 'books/_explain', query)).toMatchObject({
      dbname: 'books',
      index: { name: 'pages-json-index', type: 'json' },
    });
    const indexes = arrayAt(await ask('GET', 'books/_index'), 'indexes');
    expect(indexes.map((one) => at(one, 'name'))).toEqual(['_all_docs', 'pages-json-index']);
    const docids = [at(indexes[1], 'ddoc')];
    expect(at(await ask('POST', 'books/_index/_bulk_delete', { docids }), 'success', 0, 'ok')).toBe(true);
  });

  test('shows the last changes first', async () => {
    await fill();
    const changes = await ask('GET', 'books/_changes?descending=true&limit=100&include_docs=true');
    expect(arrayAt(changes, 'results').map((row) => at(row, 'doc', 'pages'))).toEqual(
      Array.from({ length: 25 }, (_, at) => 24 - at),
    );
  });

  test('reads and changes permissions', async () => {
    await fill();
    // Nothing was set: the page fills in what lacks.
    expect(await ask('GET', 'books/_security')).toEqual({});
    const changed = { admins: { names: ['ana'], roles: ['_admin'] }, members: { names: [], roles: ['readers'] } };
    expect(await ask('PUT', 'books/_security', changed)).toEqual({ ok: true });
    expect(await ask('GET', 'books/_security')).toEqual(changed);
  });

  test('reads and changes settings, CORS among them, and makes admins', async () => {
    const node = stringAt(await ask('GET', '_membership'), 'all_nodes', 0);
    const config = `_node/${node}/_config`;
    expect(at(await ask('GET', config), 'httpd')).toBeTypeOf('object');
    await ask('PUT', `${config}/httpd/enable_cors`, 'true');
    await ask('PUT', `${config}/cors/origins`, 'https://app.example');
    await ask('PUT', `${config}/cors/credentials`, 'true');
    await ask('PUT', `${config}/cors/headers`, 'accept, authorization, content-type, origin, referer');
    await ask('PUT', `${config}/cors/methods`, 'GET, PUT, POST, HEAD, DELETE');
    expect(await ask('GET', `${config}/cors`)).toMatchObject({ origins: 'https://app.example', credentials: 'true' });
    expect(at(await ask('GET', `${config}/httpd`), 'enable_cors')).toBe('true');
    expect(await ask('DELETE', `${config}/cors/headers`)).toBe('accept, authorization, content-type, origin, referer');
    await ask('PUT', `${config}/admins/second`, 'another secret');
    cookie = '';
    expect(await ask('POST', '_session', { name: 'second', password: 'another secret' })).toMatchObject({
      roles: ['_admin'],
    });
  });

  test('makes replications, shows them with their states, and cancels', async () => {
    await fill();
    expect((await exchange('GET', '_scheduler/jobs')).status).toBe(200);
    expect((await exchange('PUT', '_replicator')).status).toBe(201);
    const headers = { authorization: `Basic ${btoa('root:secret')}` };
    const document = {
      _id: 'copy',
      user_ctx: { name: 'root', roles: ['_admin', '_reader', '_writer'] },
      source: { headers, url: `${server.url}books` },
      target: { headers, url: `${server.url}books_copy` },
      create_target: true,
      continuous: false,
    };
    expect(await ask('POST', '_replicator', document)).toMatchObject({ ok: true, id: 'copy' });
    const states = async () =>
      arrayAt(await ask('GET', '_scheduler/docs?include_docs=true'), 'docs').map((doc) => [
        at(doc, 'doc_id'),
        at(doc, 'state'),
      ]);
    await expect.poll(states, patient).toEqual([['copy', 'completed']]);
    const stored = at(await ask('GET', '_replicator/_all_docs?include_docs=true&limit=100'), 'rows', 0, 'doc');
    expect(stored).toMatchObject({ _replication_state: 'completed', continuous: false });
    expect(Date.parse(stringAt(stored, '_replication_state_time'))).toBeGreaterThan(0);
    expect(at(await ask('GET', 'books_copy'), 'doc_count')).toBe(25);
    // Without a document: shown by its job, and cancelled by its id.
    await ask('POST', '_replicate', { source: 'books', target: 'books_copy', continuous: true });
    const jobs = async () =>
      arrayAt(await ask('GET', '_scheduler/jobs'), 'jobs').filter((job) => at(job, 'database') === null);
    await expect.poll(async () => (await jobs()).length, patient).toBe(1);
    const [job] = await jobs();
    expect(stringAt(job, 'history', 0, 'type')).toMatch(/^(started|added)$/);
    expect(stringAt(job, 'source')).toMatch(/books\/?$/);
    const id = stringAt(job, 'id');
    expect(id).toContain('+continuous');
    expect(await ask('POST', '_replicate', { replication_id: id, cancel: true })).toMatchObject({ ok: true });
    expect(await jobs()).toEqual([]);
  });

  test('shows tasks, compacts and cleans up', async () => {
    await fill();
    await ask('PUT', 'books/_design/by', { views: { pages: { map: 'function (doc) { emit(doc.pages); }' } } });
    expect(await ask('GET', '_active_tasks')).toBeInstanceOf(Array);
    for (const path of ['_compact', '_view_cleanup', '_compact/by']) {
      const answer = await exchange('POST', `books/${path}`, {});
      expect([answer.status, await answer.json()]).toEqual([202, { ok: true }]);
    }
  });
});
