import { assert } from 'chai';
import { type Answer, assertError, assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

function copy(t: Toolkit, source: string, destination: string, more: Record<string, string> = {}): Promise<Answer> {
  return t.at('COPY', source, { headers: { destination, ...more } });
}

/** `COPY` (docs/http/documents.md#copying-a-document). */
export default suite('copy_doc', [
  test('makes a new document with the same content', async (t) => {
    await t.put('original', { n: 1, list: [1, 2] });
    const answer = await copy(t, '/original', 'duplicate');
    const rev = assertWritten(answer, 201, 'duplicate');
    assert.match(rev, /^1-/);
    assert.equal(answer.header('location'), `${t.baseUrl}/${t.db}/duplicate`);
    assertJson(await t.get('/duplicate'), 200, { _id: 'duplicate', _rev: rev, n: 1, list: [1, 2] });
    assert.deepInclude(await t.info(), { doc_count: 2 });
  }),

  test('overwrites the destination only with its current revision', async (t) => {
    await t.put('original', { n: 1 });
    const rev = await t.put('target', { n: 2 });
    assertError(await copy(t, '/original', 'target'), 409, 'conflict', 'Document update conflict.');
    const stale = `target?rev=1-${'0'.repeat(32)}`;
    assertError(await copy(t, '/original', stale), 409, 'conflict', 'Document update conflict.');
    const next = assertWritten(await copy(t, '/original', `target?rev=${rev}`), 201, 'target');
    assert.match(next, /^2-/);
    assertJson(await t.get('/target'), 200, { _id: 'target', _rev: next, n: 1 });
  }),

  test('copies the revision that the query or If-Match names', async (t) => {
    const first = await t.put('original', { n: 1 });
    await t.put('original', { _rev: first, n: 2 });
    assertWritten(await copy(t, `/original?rev=${first}`, 'by-query'), 201, 'by-query');
    assertWritten(await copy(t, '/original', 'by-header', { 'if-match': `"${first}"` }), 201, 'by-header');
    assertWritten(await copy(t, '/original', 'latest'), 201, 'latest');
    assert.deepInclude((await t.get('/by-query')).json, { n: 1 });
    assert.deepInclude((await t.get('/by-header')).json, { n: 1 });
    assert.deepInclude((await t.get('/latest')).json, { n: 2 });
  }),

  test('the destination is percent-decoded', async (t) => {
    await t.put('original', { n: 1 });
    assertWritten(await copy(t, '/original', 'a%2Fb%20c%3Fd'), 201, 'a/b c?d');
    assert.deepInclude((await t.get('/a%2Fb%20c%3Fd')).json, { _id: 'a/b c?d', n: 1 });
  }),

  test(
    'a destination that is not percent-encoded is read as UTF-8, as command-line clients send it',
    async (t) => {
      await t.put('original', { a: 1 });
      // A header's bytes are shown as one character each.
      assert.equal(stringAt((await copy(t, '/original', 'caf\u00c3\u00a9')).json, 'id'), 'café');
      assert.equal(stringAt((await copy(t, '/original', 'caf\u00e9 2')).json, 'id'), 'café 2');
      assert.equal((await t.get('/caf%C3%A9')).status, 200);
    },
    { needs: ['wide-headers'] },
  ),

  test('the destination can be a full URL of this database', async (t) => {
    await t.put('original', { n: 1 });
    assertWritten(await copy(t, '/original', `${t.baseUrl}/${t.db}/target`), 201, 'target');
  }),

  test('a full URL of another database copies there, with the rights needed there', async (t) => {
    const other = `${t.db}-other`;
    await t.createDatabase(other);
    const url = `${t.baseUrl}/${other}`;
    const path = `/${other}`;
    await t.put('original', { n: 1 });
    const first = await copy(t, '/original', `${url}/a%2Fb`, {
      'if-match': stringAt((await t.get('/original')).json, '_rev'),
    });
    const rev = assertWritten(first, 201, 'a/b');
    assert.equal(first.header('location'), `${url}/a%2Fb`);
    assert.equal(first.header('etag'), `"${rev}"`);
    assertJson(await t.request('GET', `${path}/a%2Fb`), 200, { _id: 'a/b', _rev: rev, n: 1 });
    assert.equal((await t.get('/a%2Fb')).status, 404);
    assertError(await copy(t, '/original', `${url}/a%2Fb`), 409, 'conflict', 'Document update conflict.');
    assert.match(assertWritten(await copy(t, '/original', `${url}/a%2Fb?rev=${rev}`), 201, 'a/b'), /^2-/);
    assertError(await copy(t, '/nobody', `${url}/x`), 404, 'not_found', 'missing');
    assertError(await copy(t, '/original', `${t.baseUrl}/${t.db}-nowhere/x`), 404, 'not_found', 'no_db_file');
    for (const bad of [url, `${url}/`, `${url}/a/b`]) {
      assert.equal((await copy(t, '/original', bad)).status, 400, bad);
    }
    const validate = `function (doc) { if (!doc.title) throw { forbidden: 'no title' }; }`;
    const design = { validate_doc_update: validate };
    assert.equal((await t.request('PUT', `${path}/_design/v`, { json: design })).status, 201);
    assertError(await copy(t, '/original', `${url}/refused`), 403, 'forbidden', 'no title');
    assert.equal((await t.request('GET', `${path}/refused`)).status, 404);
    await t.put('_local/one', { title: 'local' });
    assertWritten(await copy(t, '/_local/one', `${url}/_local/two`), 201, '_local/two');
    assertWritten(await copy(t, '/_local/one', `${url}/plain`), 201, 'plain');
  }),

  test('attachments are copied with their document, within a database and to another', async (t) => {
    const other = `${t.db}-other`;
    await t.createDatabase(other);
    const text = 'the same words again and again, '.repeat(20_000);
    const put = (name: string, type: string, body: string | Uint8Array, rev = '') =>
      t.at('PUT', `/original/${name}${rev}`, { body, headers: { 'content-type': type } });
    const first = stringAt((await put('text', 'text/plain', text)).json, 'rev');
    const image = new Uint8Array(300_000).map((_, index) => (index * 31 + (index >> 8)) % 256);
    await put('a/%22%C3%A9', 'image/png', image, `?rev=${first}`);
    const stubs = at((await t.get('/original?att_encoding_info=true')).json, '_attachments');
    for (const [destination, path] of [
      ['copy', `/${t.db}/copy`],
      [`${t.baseUrl}/${other}/copy`, `/${other}/copy`],
    ] as const) {
      assertWritten(await copy(t, '/original', destination), 201, 'copy');
      assert.equal((await t.request('GET', `${path}/text`)).text, text);
      assert.deepEqual((await t.request('GET', `${path}/a/%22%C3%A9`)).bytes, image);
      const copied = at((await t.request('GET', `${path}?att_encoding_info=true`)).json, '_attachments');
      for (const name of ['text', 'a/"é']) {
        assert.deepEqual(at(copied, name), { ...Object(at(stubs, name)), revpos: 1 }, `${destination} ${name}`);
      }
    }
    const local = [`_local/copy`, `${t.baseUrl}/${other}/_local/copy`];
    for (const destination of local) {
      const reason = '_local documents do not accept attachments.';
      assertError(await copy(t, '/original', destination), 400, 'bad_request', reason);
    }
  }),

  test('any other URL is refused', async (t) => {
    await t.put('original', { n: 1 });
    const reason = 'Destination URL must be relative.';
    for (const url of ['http://elsewhere.example/db/target', 'https://elsewhere.example:5984/x']) {
      assertError(await copy(t, '/original', url), 400, 'bad_request', reason);
    }
    assert.deepInclude(await t.info(), { doc_count: 1 });
  }),

  test('a request without a destination is answered 400', async (t) => {
    await t.put('original', {});
    assertError(await t.at('COPY', '/original'), 400, 'bad_request', 'Destination header is mandatory for COPY.');
  }),

  test('a missing or deleted source is answered 404', async (t) => {
    assertError(await copy(t, '/nobody', 'target'), 404, 'not_found', 'missing');
    await t.delete('gone', await t.put('gone', {}));
    assertError(await copy(t, '/gone', 'target'), 404, 'not_found', 'deleted');
    assertError(await t.get('/target'), 404, 'not_found', 'missing');
  }),

  test('a tombstone named by its revision is copied as a live document', async (t) => {
    const deleted = await t.delete('gone', await t.put('gone', { n: 1 }));
    const rev = assertWritten(await copy(t, `/gone?rev=${deleted}`, 'target'), 201, 'target');
    assertJson(await t.get('/target'), 200, { _id: 'target', _rev: rev });
  }),

  test('an invalid destination id is refused', async (t) => {
    await t.put('original', {});
    const reason = 'Only reserved document ids may start with underscore.';
    assertError(await copy(t, '/original', '_mine'), 400, 'bad_request', reason);
  }),

  test('copying onto a tombstone needs no revision', async (t) => {
    await t.put('original', { n: 1 });
    await t.delete('target', await t.put('target', {}));
    const rev = assertWritten(await copy(t, '/original', 'target'), 201, 'target');
    assert.match(rev, /^3-/);
  }),

  test('design and local documents are copied like others', async (t) => {
    await t.put('_design/one', { views: {} });
    assertWritten(await copy(t, '/_design/one', '_design/two'), 201, '_design/two');
    assert.deepInclude((await t.get('/_design/two')).json, { _id: '_design/two', views: {} });
    await t.put('_local/one', { n: 1 });
    assertWritten(await copy(t, '/_local/one', '_local/two'), 201, '_local/two');
    assertJson(await t.get('/_local/two'), 200, { _id: '_local/two', _rev: '0-1', n: 1 });
    assertWritten(await copy(t, '/_local/one', 'plain'), 201, 'plain');
    assert.deepInclude((await t.get('/plain')).json, { _id: 'plain', n: 1 });
  }),
]);
