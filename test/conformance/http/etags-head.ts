import { assert } from 'chai';
import { assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** ETags of documents (docs/http/answers.md#etags). */
export default suite('etags_head', [
  test('a document with an ETag that the client has is answered 304', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    for (const method of ['GET', 'HEAD']) {
      const answer = await t.at(method, '/doc', { headers: { 'if-none-match': `"${rev}"` } });
      assert.equal(answer.status, 304);
      assert.equal(answer.header('etag'), `"${rev}"`);
    }
  }),

  test('a changed document is sent again', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    const answer = await t.get('/doc', { 'if-none-match': `"${first}"` });
    assert.equal(answer.status, 200);
    assert.equal(answer.header('etag'), `"${second}"`);
  }),

  test('one match among several tags suffices', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    assert.equal((await t.get('/doc', { 'if-none-match': `"1-x", "${rev}","2-y"` })).status, 304);
    assert.equal((await t.get('/doc', { 'if-none-match': '"1-x", "2-y"' })).status, 200);
  }),

  test('tags compare literally: no weak tags, no star', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    for (const tag of [`W/"${rev}"`, '*', rev]) {
      assert.equal((await t.get('/doc', { 'if-none-match': tag })).status, 200, tag);
    }
  }),

  test("a revision with characters that headers can't have gets an encoded ETag", async (t) => {
    for (const rev of ['1-☃', '1-ü', '1-\u007f']) {
      const id = encodeURIComponent(rev);
      const written = await t.at('PUT', `/${id}?new_edits=false`, { json: { _rev: rev } });
      assertJson(written, 201, { ok: true, id: rev, rev });
      const tag = written.header('etag') ?? '';
      const read = await t.get(`/${id}`);
      assertJson(read, 200, { _id: rev, _rev: rev });
      assert.match(tag, /^"[ -~]+"$/);
      assert.equal(read.header('etag'), tag);
      assert.equal((await t.get(`/${id}`, { 'if-none-match': tag })).status, 304);
    }
  }),

  test('HEAD returns revision and size', async (t) => {
    const rev = await t.put('doc', { text: 'Größe 😀', list: [1, 2, 3] });
    const read = await t.get('/doc');
    const head = await t.at('HEAD', '/doc');
    assert.equal(head.status, 200);
    assert.equal(head.header('etag'), `"${rev}"`);
    assert.equal(head.header('content-length'), `${read.bytes.length}`);
    assert.equal(head.header('content-type'), 'application/json');
  }),

  test('HEAD of a missing document is answered 404', async (t) => {
    const head = await t.at('HEAD', '/nobody');
    assert.equal(head.status, 404);
    assert.notProperty(head.headers, 'etag');
  }),

  test('a read with more than the document has no ETag', async (t) => {
    const rev = await t.put('doc', {});
    for (const flag of ['revs_info', 'meta', 'local_seq']) {
      const answer = await t.get(`/doc?${flag}=true`, { 'if-none-match': `"${rev}"` });
      assert.equal(answer.status, 200, flag);
      assert.notProperty(answer.headers, 'etag', flag);
    }
  }),

  test('a read of a named revision has its own ETag', async (t) => {
    const first = await t.put('doc', { n: 1 });
    await t.put('doc', { _rev: first, n: 2 });
    assert.equal((await t.get(`/doc?rev=${first}`)).header('etag'), `"${first}"`);
    assert.equal((await t.get(`/doc?rev=${first}`, { 'if-none-match': `"${first}"` })).status, 304);
  }),

  test('writes and deletions return the new ETag', async (t) => {
    const rev = assertWritten(await t.at('PUT', '/doc', { json: {} }), 201, 'doc');
    assertWritten(await t.at('DELETE', '/doc', { headers: { 'if-match': `"${rev}"` } }), 200, 'doc');
  }),

  test('If-None-Match does not stop a write', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const headers = { 'if-none-match': `"${rev}"` };
    assertWritten(await t.at('PUT', '/doc', { json: { _rev: rev, n: 2 }, headers }), 201, 'doc');
  }),
]);
