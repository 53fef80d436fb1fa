import { assert } from 'chai';
import { assertError, assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { fakeRev } from '../../support/conformance/fake-revisions.ts';
import { arrayAt, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const conflict = 'Document update conflict.';

/** `_local` documents (docs/http/documents.md#local-documents). */
export default suite('local_docs', [
  test('local documents are written, read, updated and deleted, with their own kind of revisions', async (t) => {
    const created = await t.at('PUT', '/_local/mine', { json: { n: 1 } });
    assert.equal(assertWritten(created, 201, '_local/mine'), '0-1');
    assert.equal(created.header('location'), `${t.baseUrl}/${t.db}/_local/mine`);
    const read = await t.get('/_local/mine');
    assertJson(read, 200, { _id: '_local/mine', _rev: '0-1', n: 1 });
    const updated = await t.at('PUT', '/_local/mine', { json: { _rev: '0-1', n: 2 } });
    assert.equal(assertWritten(updated, 201, '_local/mine'), '0-2');
    const deleted = await t.at('DELETE', '/_local/mine?rev=0-2');
    assertJson(deleted, 200, { ok: true, id: '_local/mine', rev: '0-0' });
    assertError(await t.get('/_local/mine'), 404, 'not_found', 'missing');
  }),

  test('a local document of more than 16,777,216 characters is refused, and nothing beside it is written', async (t) => {
    const text = 'x'.repeat(16_777_216);
    const reason =
      'a local document may have 16777216 characters, and this one has 16777227; nothing was changed. Keep large data in an ordinary document or in attachments.';
    assertError(await t.at('PUT', '/_local/large', { json: { text } }), 413, 'too_large', reason);
    const docs = [{ _id: 'beside' }, { _id: '_local/large', text }];
    assertError(await t.at('POST', '/_bulk_docs', { json: { docs } }), 413, 'too_large', reason);
    assertError(await t.get('/beside'), 404, 'not_found', 'missing');
    assertError(await t.get('/_local/large'), 404, 'not_found', 'missing');
    await t.put('_local/large', { text: text.slice(11) });
    assert.equal((await t.get('/_local/large')).text.length, 16_777_216 + 35);
  }),

  test('a deleted local document leaves no tombstone, and starts again at 0-1', async (t) => {
    await t.put('_local/mine', { n: 1 });
    await t.delete('_local/mine', '0-1');
    assert.equal(await t.put('_local/mine', { n: 2 }), '0-1');
  }),

  test('a local document is not overwritten without the current revision', async (t) => {
    await t.put('_local/mine', { n: 1 });
    await t.put('_local/mine', { _rev: '0-1', n: 2 });
    for (const document of [{ n: 3 }, { _rev: '0-1', n: 3 }, { _rev: '0-3', n: 3 }, { _rev: '1-abc', n: 3 }]) {
      assertError(await t.at('PUT', '/_local/mine', { json: document }), 409, 'conflict', conflict);
    }
    assertError(await t.at('PUT', '/_local/other', { json: { _rev: '0-1' } }), 409, 'conflict', conflict);
    assertError(await t.at('DELETE', '/_local/mine'), 409, 'conflict', conflict);
    assertError(await t.at('DELETE', '/_local/mine?rev=0-1'), 409, 'conflict', conflict);
    assertError(await t.at('DELETE', '/_local/nobody?rev=0-1'), 404, 'not_found', 'missing');
    assertJson(await t.get('/_local/mine'), 200, { _id: '_local/mine', _rev: '0-2', n: 2 });
  }),

  test("a local document's revision can be in the query or If-Match", async (t) => {
    await t.put('_local/mine', { n: 1 });
    assert.equal(await t.put('_local/mine?rev=0-1', { n: 2 }), '0-2');
    const headers = { 'if-match': '"0-2"' };
    assert.equal(assertWritten(await t.at('PUT', '/_local/mine', { json: {}, headers }), 201, '_local/mine'), '0-3');
  }),

  test('local documents are not counted, listed or sequenced', async (t) => {
    await t.put('_local/mine', { n: 1 });
    await t.put('_local/mine', { _rev: '0-1', n: 2 });
    assert.deepInclude(await t.info(), { doc_count: 0, doc_del_count: 0, update_seq: 0 });
    assertJson(await t.get('/_all_docs'), 200, { total_rows: 0, offset: 0, rows: [] });
  }),

  test('local documents can be written in a bulk request', async (t) => {
    const rows = await t.bulk([{ _id: 'plain' }, { _id: '_local/mine', n: 1 }, { _id: '_local/mine', n: 2 }]);
    assert.deepInclude(rows[0], { ok: true, id: 'plain' });
    assert.deepEqual(rows[1], { ok: true, id: '_local/mine', rev: '0-1' });
    assert.deepEqual(rows[2], { id: '_local/mine', rev: '', error: 'conflict', reason: conflict });
    const next = await t.bulk([{ _id: '_local/mine', _rev: '0-1', _deleted: true }]);
    assert.deepEqual(next, [{ ok: true, id: '_local/mine', rev: '0-0' }]);
    assert.deepInclude(await t.info(), { doc_count: 1, update_seq: 1 });
  }),

  test('local documents stay local with new_edits=false', async (t) => {
    await t.put('_local/mine', { n: 1 });
    await t.replicate([{ _id: '_local/mine', _rev: '0-1', n: 2 }]);
    assertJson(await t.get('/_local/mine'), 200, { _id: '_local/mine', _rev: '0-2', n: 2 });
    assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
  }),

  test('a revision that no local document can have is a conflict, also with new_edits=false', async (t) => {
    await t.put('_local/mine', { n: 1 });
    const json = { _rev: fakeRev(1, 'a'), n: 2 };
    for (const query of ['', '?new_edits=false']) {
      assertError(await t.at('PUT', `/_local/mine${query}`, { json }), 409, 'conflict', conflict);
    }
    const rows = await t.bulk([{ _id: '_local/mine', ...json }], { new_edits: false });
    assert.deepEqual(rows, [{ id: '_local/mine', rev: fakeRev(1, 'a'), error: 'conflict', reason: conflict }]);
    assertJson(await t.get('/_local/mine'), 200, { _id: '_local/mine', _rev: '0-1', n: 1 });
  }),

  test('a local document can have any name, with slashes encoded', async (t) => {
    for (const name of ['a%2Fb', '%F0%9F%98%80', 'x%20y', '_odd']) {
      await t.put(`_local/${name}`, { name });
      const id = `_local/${decodeURIComponent(name)}`;
      assertJson(await t.get(`/_local/${name}`), 200, { _id: id, _rev: '0-1', name });
    }
  }),

  test('a local document can be large', async (t) => {
    const history = Array.from({ length: 2000 }, (_, n) => ({ session_id: `session-${n}`, recorded_seq: n }));
    await t.put('_local/checkpoint', { history });
    assert.lengthOf(arrayAt((await t.get('/_local/checkpoint')).json, 'history'), 2000);
  }),

  test('a local document has an ETag', async (t) => {
    await t.put('_local/mine', {});
    assert.equal((await t.get('/_local/mine')).header('etag'), '"0-1"');
    const head = await t.at('HEAD', '/_local/mine');
    assert.equal(head.status, 200);
    assert.equal((await t.get('/_local/mine', { 'if-none-match': '"0-1"' })).status, 304);
  }),

  test('local documents survive compaction and purge', async (t) => {
    await t.put('_local/mine', { n: 1 });
    const rev = await t.put('doc', {});
    await t.compact();
    const purged = await t.at('POST', '/_purge', { json: { doc: [rev] } });
    assert.equal(purged.status, 200);
    assert.equal(stringAt((await t.get('/_local/mine')).json, '_rev'), '0-1');
  }),

  test("local documents can't have attachments", async (t) => {
    const reason = '_local documents do not accept attachments.';
    assertError(await t.at('PUT', '/_local/mine/photo', { body: 'x' }), 400, 'bad_request', reason);
  }),
]);
