import { assert } from 'chai';
import { type Answer, assertError, assertJson } from '../../support/conformance/answer.ts';
import { assertHello, BINARY, HELLO_MD5, putAttachment } from '../../support/conformance/attachments.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** Attachments by themselves (docs/http/attachments.md). */
export default suite('attachments', [
  test('attachments are put, read and deleted', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const put = await t.at('PUT', `/doc/icon.png?rev=${first}`, {
      body: 'hello',
      headers: { 'content-type': BINARY, accept: '*/*' },
    });
    const rev = stringAt(put.json, 'rev');
    assertJson(put, 201, { ok: true, id: 'doc', rev });
    assert.match(rev, /^2-/);
    assert.equal(put.header('etag'), `"${rev}"`);
    assert.equal(put.header('location'), `${t.baseUrl}/${t.db}/doc/icon.png`);
    assert.equal(put.header('content-type'), 'application/json');

    const read = await t.get('/doc/icon.png');
    assertHello(read);
    assert.equal(read.header('content-type'), BINARY);
    assert.equal(read.header('etag'), `"${HELLO_MD5}"`);
    assert.equal(read.header('content-md5'), HELLO_MD5);
    assert.equal(read.header('accept-ranges'), 'bytes');
    const stub = { content_type: BINARY, revpos: 2, digest: `md5-${HELLO_MD5}`, length: 5, stub: true };
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: rev, n: 1, _attachments: { 'icon.png': stub } });

    for (const [accept, type] of [
      ['application/json', 'application/json'],
      ['text/plain', 'text/plain; charset=utf-8'],
      ['image/png', 'text/plain; charset=utf-8'],
    ] as const) {
      const headers = { accept };
      const other = await t.at('PUT', `/other-${accept.length}/a`, { body: 'hello', headers });
      assert.equal(other.header('content-type'), type, accept);
      const path = `/other-${accept.length}/a?rev=${stringAt(other.json, 'rev')}`;
      assert.equal((await t.at('DELETE', path, { headers })).header('content-type'), type, accept);
    }
    const gone = await t.at('DELETE', `/doc/icon.png?rev=${rev}`);
    const last = stringAt(gone.json, 'rev');
    assertJson(gone, 200, { ok: true, id: 'doc', rev: last });
    assertError(await t.get('/doc/icon.png'), 404, 'not_found', 'Document is missing attachment');
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: last, n: 1 });
    assertHello(await t.get(`/doc/icon.png?rev=${rev}`));
  }),

  test('HEAD returns the headers of GET', async (t) => {
    await putAttachment(t, '/doc/icon.png', 'hello');
    const head = await t.at('HEAD', '/doc/icon.png');
    assert.equal(head.status, 200);
    assert.equal(head.header('content-md5'), HELLO_MD5);
    assert.equal(head.header('etag'), `"${HELLO_MD5}"`);
    assert.equal(head.header('accept-ranges'), 'bytes');
  }),

  test('an attachment with an ETag that the client has is answered 304', async (t) => {
    await putAttachment(t, '/doc/icon.png', 'hello');
    const answer = await t.get('/doc/icon.png', { 'if-none-match': `"${HELLO_MD5}"` });
    assert.equal(answer.status, 304);
  }),

  test('the first attachment creates its document', async (t) => {
    const rev = await putAttachment(t, '/doc/icon.png', 'hello');
    assert.match(rev, /^1-/);
    assert.deepEqual(at((await t.get('/doc')).json, '_rev'), rev);
  }),

  test('an attachment of an existing document is written only with the current revision', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const refusals = [
      await t.at('PUT', '/doc/a', { body: 'x' }),
      await t.at('PUT', `/doc/a?rev=1-${'0'.repeat(32)}`, { body: 'x' }),
      await t.at('PUT', `/other/a?rev=${rev}`, { body: 'x' }),
    ];
    for (const answer of refusals) assertError(answer, 409, 'conflict', 'Document update conflict.');
    assert.deepInclude(await t.info(), { update_seq: 1 });
    const headers = { 'if-match': `"${rev}"` };
    assert.equal((await t.at('PUT', '/doc/a', { body: 'x', headers })).status, 201);
    assertError(await t.at('DELETE', '/doc/a'), 409, 'conflict', 'Document update conflict.');
  }),

  test("a missing attachment can't be deleted", async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const answer = await t.at('DELETE', `/doc/a?rev=${rev}`);
    assertError(answer, 404, 'not_found', 'Document is missing attachment');
    assertError(await t.get('/none/a'), 404, 'not_found', 'missing');
  }),

  test('names can have slashes, spaces and any letters', async (t) => {
    let rev = await t.put('a/b'.replace('/', '%2F'), {});
    for (const name of ['deep/er/x.txt', 'with%20space', '%C3%A9%F0%9F%98%80', 'semi;colon,%3F%23', 'A', 'a']) {
      const answer = await t.at('PUT', `/a%2Fb/${name}?rev=${rev}`, {
        body: name,
        headers: { 'content-type': BINARY },
      });
      assert.equal(answer.status, 201, answer.text);
      rev = stringAt(answer.json, 'rev');
    }
    assert.equal((await t.get('/a%2Fb/deep/er/x.txt')).text, 'deep/er/x.txt');
    assert.equal((await t.get('/a%2Fb/deep%2Fer%2Fx.txt')).text, 'deep/er/x.txt');
    assert.equal((await t.get('/a%2Fb/%C3%A9%F0%9F%98%80')).text, '%C3%A9%F0%9F%98%80');
    assert.equal((await t.get('/a%2Fb/A')).text, 'A');
    const names = Object.keys(Object(at((await t.get('/a%2Fb')).json, '_attachments')));
    assert.sameMembers(names, ['deep/er/x.txt', 'with space', 'é😀', 'semi;colon,?#', 'A', 'a']);
  }),

  test('the Location of an attachment leads to it, also if its name has empty segments', async (t) => {
    for (const name of ['a%2Fb', 'a%2F%2Fb', '%2Fa', 'a%2F']) {
      const { pathname } = new URL((await put(name)).header('location') ?? '', t.baseUrl);
      assert.equal((await t.request('GET', pathname.slice(t.basePath.length))).text, name, name);
    }

    function put(name: string): Promise<Answer> {
      return t.at('PUT', `/doc-${name}/${name}`, { body: name, headers: { 'content-type': BINARY } });
    }
  }),

  test('names that begin with an underscore are refused', async (t) => {
    const reason = "Attachment name can't start with '_'";
    assertError(await t.at('PUT', '/doc/_a', { body: 'x' }), 400, 'bad_request', reason);
    const inline = { _attachments: { _a: { data: 'eA==' } } };
    assertError(await t.at('PUT', '/doc', { json: inline }), 400, 'bad_request', reason);
    assert.deepInclude(await t.info(), { doc_count: 0 });
  }),

  test('a name that occurs twice is refused', async (t) => {
    const body = '{"_attachments":{"a":{"data":"YQ=="},"b":{"data":"Yg=="},"\\u0061":{"data":"Yw=="}}}';
    assertError(await t.at('PUT', '/doc', { body }), 400, 'bad_request', 'Duplicate attachments');
    const bulk = { body: `{"docs":[{"_id":"doc",${body.slice(1)}]}`, headers: { 'content-type': 'application/json' } };
    assertError(await t.at('POST', '/_bulk_docs', bulk), 400, 'bad_request', 'Duplicate attachments');
    assert.equal((await t.get('/doc')).status, 404);
  }),

  test("design documents can have attachments, and local documents can't", async (t) => {
    await putAttachment(t, '/_design/app/index.html', 'hello', 'application/xhtml+xml');
    assertHello(await t.get('/_design/app/index.html'));
    const reason = '_local documents do not accept attachments.';
    assertError(await t.at('PUT', '/_local/a/b', { body: 'x' }), 400, 'bad_request', reason);
    const inline = { _attachments: { a: { data: 'eA==' } } };
    assertError(await t.at('PUT', '/_local/a', { json: inline }), 400, 'bad_request', reason);
  }),

  test('Content-MD5 is checked', async (t) => {
    const put = (md5: string) => t.at('PUT', '/doc/a', { body: 'hello', headers: { 'content-md5': md5 } });
    for (const md5 of ['XUFAKrxLKna5cZ2REBfFkQ==', 'nonsense']) {
      assertError(await put(md5), 400, 'content_md5_mismatch', 'Possible message corruption.');
    }
    assert.deepInclude(await t.info(), { doc_count: 0 });
    assert.equal((await put(HELLO_MD5)).status, 201);
  }),

  test('an empty attachment is stored', async (t) => {
    await putAttachment(t, '/doc/a', '');
    const read = await t.get('/doc/a');
    assert.equal(read.status, 200);
    assert.equal(read.bytes.length, 0);
    assert.deepInclude(at((await t.get('/doc')).json, '_attachments', 'a'), { length: 0 });
    assert.deepInclude(at((await t.get('/doc?attachments=true')).json, '_attachments', 'a'), { data: '' });
  }),

  test('attachments survive a compaction and a restart', async (t) => {
    const large = new Uint8Array(700_000).map((_, index) => (index * 31 + (index >> 8)) % 256);
    const first = await putAttachment(t, '/doc/a', 'hello');
    await putAttachment(t, `/doc/b?rev=${first}`, large);
    await t.compact();
    assertHello(await t.get('/doc/a'));
    assert.deepEqual((await t.get('/doc/b')).bytes, large);
  }),

  test(
    'an upload that breaks off leaves nothing in the database',
    async (t) => {
      const rev = await t.put('doc', { n: 1 });
      const body = { bytes: new Uint8Array(900_000).fill(7), announced: 2_000_000 };
      await t.at('PUT', `/doc/a?rev=${rev}`, { body, headers: { 'content-type': BINARY } }).catch(() => undefined);
      assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: rev, n: 1 });
      await putAttachment(t, `/doc/a?rev=${rev}`, 'hello');
      assertHello(await t.get('/doc/a'));
    },
    { needs: ['broken-body'] },
  ),

  test(
    'more bytes than the setting permits are refused, announced or not',
    async (t) => {
      const small = await t.withSettings({ svc: { max_attachment_chunk_size: '1000' } });
      const reason = 'An attachment may have at most 1000 bytes (svc/max_attachment_chunk_size).';
      for (const size of [1001, 300_000]) {
        const answer = await small.at('PUT', '/doc/a', { body: new Uint8Array(size) });
        assertError(answer, 413, 'too_large', reason);
      }
      const inline = { _attachments: { a: { data: btoa('x'.repeat(1001)) } } };
      assertError(await small.at('PUT', '/doc', { json: inline }), 413, 'too_large', reason);
      assert.deepInclude(await small.info(), { doc_count: 0, update_seq: 0 });
      assert.equal((await small.at('PUT', '/doc/a', { body: new Uint8Array(1000) })).status, 201);
    },
    { needs: ['settings'] },
  ),
]);
