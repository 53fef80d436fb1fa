import HttpAdapter from 'pouchdb-adapter-http';
import PouchDB from 'pouchdb-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { arrayAt, at, numberAt } from '../../support/conformance/json.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';
import { countryDocuments } from './countries.ts';

PouchDB.plugin(HttpAdapter);

/** PouchDB's own HTTP adapter, as a web app of today uses it against a server of this interface family. */
describe('PouchDB over HTTP', () => {
  let host: NodeHost;
  let db: PouchDB;

  beforeAll(async () => {
    host = await NodeHost.start();
  });
  afterAll(() => host.close());
  beforeEach(() => {
    db = new PouchDB(`${host.baseUrl}/countries`);
  });
  afterEach(async () => {
    await db.destroy();
  });

  test('creates the database on first use, and reads its info', async () => {
    expect(await db.info()).toMatchObject({ db_name: 'countries', doc_count: 0, update_seq: 0, adapter: 'http' });
  });

  test('puts, gets and removes a document', async () => {
    const [country] = countryDocuments();
    const written = await db.put(country ?? {});
    expect(written).toEqual({ ok: true, id: 'ABW', rev: expect.stringMatching(/^1-[0-9a-f]{32}$/) });
    expect(await db.get('ABW')).toEqual({ ...country, _rev: written.rev });
    await db.remove('ABW', written.rev);
    await expect(db.get('ABW')).rejects.toMatchObject({ status: 404, name: 'not_found', reason: 'deleted' });
  });

  test('post() creates an id', async () => {
    const { id, rev } = await db.post({ n: 1 });
    expect(await db.get(id)).toEqual({ _id: id, _rev: rev, n: 1 });
  });

  test('stores ids of every kind', async () => {
    for (const id of ['a/b', 'a+b', 'a b', 'a%b', '?', '😀', '_design/x', '_local/x']) {
      const { rev } = await db.put({ _id: id, n: 1 });
      expect(await db.get(id)).toEqual({ _id: id, _rev: rev, n: 1 });
    }
  });

  test('puts, reads and removes attachments', async () => {
    const bytes = Buffer.from([0, 1, 2, 255, 254]);
    const put = await db.putAttachment('doc', 'deep/é 😀.bin', undefined, bytes, 'x/y');
    expect(bytesOf(await db.getAttachment('doc', 'deep/é 😀.bin'))).toEqual([...bytes]);
    const next = await db.putAttachment('doc', 'note.txt', put.rev, Buffer.from('hello'), 'text/plain');
    const document = await db.get('doc', { attachments: true });
    expect(at(document, '_attachments', 'note.txt')).toMatchObject({ content_type: 'text/plain', data: 'aGVsbG8=' });
    expect(at(document, '_attachments', 'deep/é 😀.bin')).toMatchObject({ data: bytes.toString('base64'), revpos: 1 });
    const removed = await db.removeAttachment('doc', 'note.txt', next.rev);
    expect(Object.keys(Object(at(await db.get('doc'), '_attachments')))).toEqual(['deep/é 😀.bin']);
    await expect(db.getAttachment('doc', 'note.txt')).rejects.toMatchObject({ status: 404 });
    expect(removed.rev).toMatch(/^3-/);
  });

  test('reads attachments inline and in lists', async () => {
    const attachment = { content_type: 'text/plain', data: 'aGVsbG8=' };
    await db.bulkDocs([{ _id: 'a', _attachments: { x: attachment } }, { _id: 'b' }]);
    expect(bytesOf(await db.getAttachment('a', 'x'))).toEqual([...Buffer.from('hello')]);
    const { rows } = Object(await db.allDocs({ include_docs: true, attachments: true }));
    expect(at(rows, 0, 'doc', '_attachments', 'x')).toMatchObject(attachment);
    const read = await db.bulkGet({ docs: [{ id: 'a' }], attachments: true });
    expect(at(read, 'results', 0, 'docs', 0, 'ok', '_attachments', 'x')).toMatchObject(attachment);
  });

  test('a conflicting put() is refused', async () => {
    const { rev } = await db.put({ _id: 'doc', n: 1 });
    await db.put({ _id: 'doc', _rev: rev, n: 2 });
    await expect(db.put({ _id: 'doc', _rev: rev, n: 3 })).rejects.toMatchObject({ status: 409, name: 'conflict' });
  });

  test('writes and lists all countries with bulkDocs() and allDocs()', async () => {
    const docs = countryDocuments();
    const rows = await db.bulkDocs(docs);
    expect(rows).toHaveLength(docs.length);
    expect(rows.every((row) => at(row, 'ok') === true)).toBe(true);
    const all = await db.allDocs({ include_docs: true });
    expect(at(all, 'total_rows')).toBe(docs.length);
    const ids = arrayAt(all, 'rows').map((row) => at(row, 'id'));
    expect(ids).toEqual(docs.map((doc) => doc._id).toSorted());
    for (const doc of docs) {
      const row = arrayAt(all, 'rows')[ids.indexOf(doc._id)];
      expect(at(row, 'doc')).toEqual({ ...doc, _rev: at(row, 'value', 'rev') });
    }
    const some = await db.allDocs({ startkey: 'CHE', endkey: 'CIV' });
    expect(arrayAt(some, 'rows').map((row) => at(row, 'id'))).toEqual(['CHE', 'CHL', 'CHN', 'CIV']);
    const keys = await db.allDocs({ keys: ['ZWE', 'XXX', 'ABW'] });
    expect(arrayAt(keys, 'rows').map((row) => at(row, 'key'))).toEqual(['ZWE', 'XXX', 'ABW']);
  });

  test('writes and reads conflicts as a replicator does', async () => {
    const docs = [replicated('doc', 2, 'ba', { n: 1 }), replicated('doc', 2, 'ca', { n: 2 })];
    expect(await db.bulkDocs(docs, { new_edits: false })).toEqual([]);
    expect(await db.get('doc', { conflicts: true })).toEqual({
      _id: 'doc',
      _rev: fakeRev(2, 'c'),
      n: 2,
      _conflicts: [fakeRev(2, 'b')],
    });
    const leaves = await db.get('doc', { open_revs: 'all' });
    expect(arrayAt(leaves)).toHaveLength(2);
    expect(arrayAt(leaves)).toContainEqual({ ok: { _id: 'doc', _rev: fakeRev(2, 'b'), n: 1 } });
    // PouchDB asks for the listed ones one by one, and collects them as they arrive.
    const listed = arrayAt(await db.get('doc', { open_revs: [fakeRev(2, 'b'), fakeRev(9, '9')], revs: true }));
    const _revisions = { start: 2, ids: ['b'.repeat(32), 'a'.repeat(32)] };
    expect(listed).toHaveLength(2);
    expect(listed).toContainEqual({ ok: { _id: 'doc', _rev: fakeRev(2, 'b'), n: 1, _revisions } });
    expect(listed.map((entry) => at(entry, 'missing'))).toContain(fakeRev(9, '9'));
  });

  test('reads documents with bulkGet()', async () => {
    const { rev } = await db.put({ _id: 'doc', n: 1 });
    const found = await db.bulkGet({
      docs: [
        { id: 'doc', rev },
        { id: 'nobody', rev },
      ],
      revs: true,
    });
    expect(found).toEqual({
      results: [
        { id: 'doc', docs: [{ ok: { _id: 'doc', _rev: rev, n: 1, _revisions: { start: 1, ids: [rev.slice(2)] } } }] },
        { id: 'nobody', docs: [{ error: { id: 'nobody', rev, error: 'not_found', reason: 'missing' } }] },
      ],
    });
  });

  test('compares revisions with revsDiff()', async () => {
    const { rev } = await db.put({ _id: 'doc', n: 1 });
    expect(await db.revsDiff({ doc: [rev, fakeRev(2, 'f')], nobody: [fakeRev(1, 'a')] })).toEqual({
      doc: { missing: [fakeRev(2, 'f')], possible_ancestors: [rev] },
      nobody: { missing: [fakeRev(1, 'a')] },
    });
  });

  test('compacts the database', async () => {
    const { rev } = await db.put({ _id: 'doc', n: 1 });
    await db.put({ _id: 'doc', _rev: rev, n: 2 });
    await db.compact();
    await expect(db.get('doc', { rev })).rejects.toMatchObject({ status: 404, reason: 'missing' });
    expect(numberAt(await db.info(), 'doc_count')).toBe(1);
  });

  test('destroy() removes the database', async () => {
    await db.put({ _id: 'doc' });
    await db.destroy();
    db = new PouchDB(`${host.baseUrl}/countries`, { skip_setup: true });
    await expect(db.get('doc')).rejects.toMatchObject({ status: 404, reason: 'no_db_file' });
    db = new PouchDB(`${host.baseUrl}/countries`);
    expect(await db.info()).toMatchObject({ doc_count: 0 });
  });
});

/** A Buffer, to which PouchDB adds members of its own. */
function bytesOf(value: unknown): number[] {
  return Buffer.isBuffer(value) ? [...value] : [];
}
