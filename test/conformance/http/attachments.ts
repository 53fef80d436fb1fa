import { assert } from 'chai';
import { type Answer, assertError, assertJson } from '../../support/conformance/answer.ts';
import { gzip } from '../../support/conformance/gzip.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** MD5 of `hello`, in Base64. */
const HELLO_MD5 = 'XUFAKrxLKna5cZ2REBfFkg==';
const BINARY = 'image/png';

async function putAttachment(t: Toolkit, path: string, body: string | Uint8Array, type = BINARY): Promise<string> {
  const answer = await t.at('PUT', path, { body, headers: { 'content-type': type } });
  assert.equal(answer.status, 201, answer.text);
  return stringAt(answer.json, 'rev');
}

const LINES = Array.from({ length: 300 }, (_, line) => `line ${line}`).join('\n');

/** Puts a text, or the file of its gzip: both are stored as the same bytes. Gives the document's revision. */
async function putEither(t: Toolkit, kind: 'text' | 'file', path: string): Promise<string> {
  const type = kind === 'text' ? 'text/plain' : 'application/gzip';
  const encoding = kind === 'text' ? { 'content-encoding': 'gzip' } : {};
  const answer = await t.at('PUT', path, { body: await gzip(LINES), headers: { 'content-type': type, ...encoding } });
  assert.equal(answer.status, 201, answer.text);
  return stringAt(answer.json, 'rev');
}

/** Reads a text, or the file of its gzip, in all ways. Gives the tag. */
async function assertEither(t: Toolkit, kind: 'text' | 'file', document: string, name: string): Promise<string> {
  const expected = kind === 'text' ? new TextEncoder().encode(LINES) : await gzip(LINES);
  const read = await t.get(`${document}/${name}`, { 'accept-encoding': 'identity' });
  assert.equal(read.status, 200);
  assert.deepEqual(read.bytes, expected);
  assert.equal(read.header('accept-ranges'), 'bytes');
  const stub = at((await t.get(`${document}?att_encoding_info=true`)).json, '_attachments', name);
  assert.deepInclude(stub, { length: expected.length, stub: true });
  assert.equal(Object.hasOwn(Object(stub), 'encoding'), kind === 'text');
  const inside = at((await t.get(`${document}?attachments=true`)).json, '_attachments', name, 'data');
  assert.equal(inside, btoa(String.fromCharCode(...expected)));
  return read.header('etag') ?? '';
}

function assertHello(answer: Answer): void {
  assert.equal(answer.status, 200);
  assert.equal(answer.text, 'hello');
}

/** Attachments by themselves and in documents (docs/http/attachments.md). */
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

  test('compressible types are stored compressed, and sent in an encoding that the client accepts', async (t) => {
    const text = 'the same words again and again, '.repeat(200);
    await putAttachment(t, '/doc/a.txt', text, 'text/plain; charset=utf-8');
    const read = await t.get('/doc/a.txt', { 'accept-encoding': 'identity' });
    assert.equal(read.text, text);
    assert.equal(read.header('accept-ranges'), 'bytes');
    assert.equal(at((await t.get('/doc')).json, '_attachments', 'a.txt', 'length'), text.length);
    const info = at((await t.get('/doc?att_encoding_info=true')).json, '_attachments', 'a.txt');
    assert.deepInclude(info, { encoding: 'gzip', length: text.length });
    assert.isBelow(Number(at(info, 'encoded_length')), 500);
  }),

  ...(['text', 'file'] as const).map((first) =>
    test(`a text and the file of its gzip are different attachments, the ${first} first`, async (t) => {
      const second = first === 'text' ? 'file' : 'text';
      const rev = await putEither(t, first, '/doc/one');
      await putEither(t, second, `/doc/two?rev=${rev}`);
      await putEither(t, second, '/other/two');
      const { json } = await t.get('/doc');
      assert.equal(at(json, '_attachments', 'one', 'digest'), at(json, '_attachments', 'two', 'digest'));
      const tag = await assertEither(t, first, '/doc', 'one');
      assert.notEqual(await assertEither(t, second, '/doc', 'two'), tag);
      // A document that is sent back as it was read.
      const next = await t.put('doc', { ...Object(json), n: 2 });
      await t.at('COPY', '/doc', { headers: { destination: 'copy' } });
      await t.compact();
      for (const document of ['/doc', '/copy']) {
        await assertEither(t, first, document, 'one');
        await assertEither(t, second, document, 'two');
      }
      await t.at('DELETE', `/doc/one?rev=${next}`);
      await t.at('DELETE', `/copy?rev=${stringAt((await t.get('/copy')).json, '_rev')}`);
      await t.compact();
      await assertEither(t, second, '/doc', 'two');
      await assertEither(t, second, '/other', 'two');
    }),
  ),

  test('a text that replaces its own gzip has another ETag', async (t) => {
    const rev = await putEither(t, 'text', '/doc/a');
    const tag = (await t.get('/doc/a', { 'accept-encoding': 'identity' })).header('etag') ?? '';
    assert.equal((await t.get('/doc/a', { 'if-none-match': tag })).status, 304);
    await putEither(t, 'file', `/doc/a?rev=${rev}`);
    assert.deepEqual((await t.get('/doc/a', { 'if-none-match': tag })).bytes, await gzip(LINES));
    assert.equal((await t.get(`/doc/a?rev=${rev}`, { 'accept-encoding': 'identity' })).text, LINES);
  }),

  test("content that compression doesn't shorten is stored unchanged", async (t) => {
    await putAttachment(t, '/doc/a', 'hello', 'text/plain');
    const stub = { content_type: 'text/plain', revpos: 1, digest: `md5-${HELLO_MD5}`, length: 5, stub: true };
    assert.deepEqual(at((await t.get('/doc?att_encoding_info=true')).json, '_attachments', 'a'), stub);
    const random = new Uint8Array(300_000);
    let state = 1;
    for (let index = 0; index < random.length; index++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      random[index] = state >>> 24;
    }
    await putAttachment(t, '/large/a', random, 'text/plain');
    assert.notProperty(at((await t.get('/large?att_encoding_info=true')).json, '_attachments', 'a'), 'encoding');
    assert.deepEqual((await t.get('/large/a')).bytes, random);
  }),

  test('gzip that is no shorter than its content is stored decoded', async (t) => {
    const text = 'aaaaaaaaaaaaaaaaaaaaaaabcdefghijk';
    const base64 = 'H4sIAAAAAAAAA0tMxAqSklNS09IzMrOyAca5Db0hAAAA';
    const packed = Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0));
    assert.equal(packed.length, text.length);
    const headers = { 'content-encoding': 'gzip', 'content-type': BINARY };
    assert.equal((await t.at('PUT', '/doc/a', { body: packed, headers })).status, 201);
    await putAttachment(t, '/doc2/a', packed);
    assert.equal((await t.get('/doc/a', { 'accept-encoding': 'identity' })).text, text);
    assert.deepEqual((await t.get('/doc2/a', { 'accept-encoding': 'identity' })).bytes, packed);
    assert.notProperty(at((await t.get('/doc?att_encoding_info=true')).json, '_attachments', 'a'), 'encoding');
  }),

  test('content that arrives compressed is stored unchanged', async (t) => {
    const packed = await gzip('hello');
    const headers = { 'content-encoding': 'gzip', 'content-type': BINARY };
    assert.equal((await t.at('PUT', '/doc/a', { body: packed, headers })).status, 201);
    assertHello(await t.get('/doc/a', { 'accept-encoding': 'identity' }));
    const stub = at((await t.get('/doc?att_encoding_info=true')).json, '_attachments', 'a');
    assert.deepInclude(stub, { encoding: 'gzip', encoded_length: packed.length, length: 5 });
  }),

  test('other encodings and invalid gzip are refused', async (t) => {
    const put = (encoding: string) => t.at('PUT', '/doc/a', { body: 'x', headers: { 'content-encoding': encoding } });
    const reason = 'Only gzip and identity content-encodings are supported';
    assertError(await put('br'), 415, 'bad_content_type', reason);
    assertError(await put('gzip'), 400, 'bad_request', 'The attachment is not valid gzip data.');
    assert.deepInclude(await t.info(), { doc_count: 0 });
  }),

  test('attachments are written inline, and read inline with attachments=true', async (t) => {
    const _attachments = {
      'a.txt': { content_type: 'text/plain', data: 'aGVsbG8=' },
      'b.bin': { data: 'AAEC/w==' },
    };
    const rev = await t.put('doc', { n: 1, _attachments });
    assertHello(await t.get('/doc/a.txt'));
    assert.deepEqual([...(await t.get('/doc/b.bin')).bytes], [0, 1, 2, 255]);
    assert.equal((await t.get('/doc/b.bin')).header('content-type'), 'application/octet-stream');
    const digest = at((await t.get('/doc')).json, '_attachments', 'a.txt', 'digest');
    assertJson(await t.get('/doc?attachments=true'), 200, {
      _id: 'doc',
      _rev: rev,
      n: 1,
      _attachments: {
        'a.txt': { content_type: 'text/plain', revpos: 1, digest, data: 'aGVsbG8=' },
        'b.bin': {
          content_type: 'application/octet-stream',
          revpos: 1,
          digest: 'md5-BBbauBmIczOvgx+MdlrCrg==',
          data: 'AAEC/w==',
        },
      },
    });
  }),

  test('stubs keep attachments, and attachments left out are removed', async (t) => {
    const first = await t.put('doc', { _attachments: { a: { data: 'aGVsbG8=' }, b: { data: 'eA==' } } });
    const next = await t.put('doc', { _rev: first, n: 2, _attachments: { a: { stub: true }, c: { data: 'eQ==' } } });
    const stubs = at((await t.get('/doc')).json, '_attachments');
    assert.deepInclude(at(stubs, 'a'), { revpos: 1, length: 5, stub: true });
    assert.deepInclude(at(stubs, 'c'), { revpos: 2, length: 1 });
    assert.sameMembers(Object.keys(Object(stubs)), ['a', 'c']);
    const since = encodeURIComponent(JSON.stringify([first]));
    const read = at((await t.get(`/doc?atts_since=${since}`)).json, '_attachments');
    assert.deepInclude(at(read, 'a'), { stub: true });
    assert.deepInclude(at(read, 'c'), { data: 'eQ==' });
    await t.put('doc', { _rev: next });
    assert.notProperty((await t.get('/doc')).json, '_attachments');
  }),

  test('a stub of an attachment that the previous revision lacks is refused', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const document = { _rev: rev, _attachments: { a: { stub: true } } };
    assertError(await t.at('PUT', '/doc', { json: document }), 412, 'missing_stub', 'id:doc, name:a');
    assertError(
      await t.at('POST', '/_bulk_docs', { json: { docs: [{ _id: 'x' }, { _id: 'doc', ...document }] } }),
      412,
      'missing_stub',
      'id:doc, name:a',
    );
    assert.deepInclude(await t.info(), { doc_count: 1, update_seq: 1 });
  }),

  test('data that is not Base64 is refused', async (t) => {
    const json = { _attachments: { a: { data: 'no!' } } };
    assertError(await t.at('PUT', '/doc', { json }), 400, 'bad_request', 'Invalid attachment data for a');
    assert.deepInclude(await t.info(), { doc_count: 0 });
  }),

  test('attachments are written by _bulk_docs, and replicated with their revpos', async (t) => {
    await t.bulk([{ _id: 'a', _attachments: { x: { data: 'aGVsbG8=' } } }, { _id: 'b' }]);
    assertHello(await t.get('/a/x'));
    const revisions = { start: 3, ids: ['c'.repeat(32), 'b'.repeat(32)] };
    const attachment = { data: 'aGVsbG8=', revpos: 2, content_type: BINARY };
    await t.replicate([
      { _id: 'c', _rev: `3-${'c'.repeat(32)}`, _revisions: revisions, _attachments: { x: attachment } },
    ]);
    assert.deepInclude(at((await t.get('/c')).json, '_attachments', 'x'), { revpos: 2, length: 5 });
    const next = { start: 4, ids: ['d'.repeat(32), 'c'.repeat(32)] };
    const stub = { stub: true, revpos: 2 };
    await t.replicate([{ _id: 'c', _rev: `4-${'d'.repeat(32)}`, _revisions: next, _attachments: { x: stub } }]);
    assertHello(await t.get('/c/x'));
  }),

  test('COPY copies attachments', async (t) => {
    await t.put('doc', { n: 1, _attachments: { a: { data: 'aGVsbG8=', content_type: BINARY } } });
    await t.at('COPY', '/doc', { headers: { destination: 'copy' } });
    assertHello(await t.get('/copy/a'));
    assert.deepInclude(at((await t.get('/copy')).json, '_attachments', 'a'), { revpos: 1, content_type: BINARY });
  }),

  test('the same edit has the same revision, whatever compressed the bytes', async (t) => {
    const text = 'hello '.repeat(100);
    const plain = await putAttachment(t, '/a/x.txt', text, 'text/plain');
    const headers = { 'content-encoding': 'gzip', 'content-type': 'text/plain' };
    const packed = await t.at('PUT', '/b/x.txt', { body: await gzip(text), headers });
    assert.equal(stringAt(packed.json, 'rev'), plain);
  }),

  test('validation functions see attachments as stubs', async (t) => {
    const validate = `(doc) => {
      const names = Object.keys(doc._attachments || {});
      if (names.includes('bad')) throw { forbidden: JSON.stringify(doc._attachments.bad.stub) + doc._attachments.bad.length };
    }`;
    await t.put('_design/guard', { validate_doc_update: validate });
    assertError(await t.at('PUT', '/doc/bad', { body: 'hello' }), 403, 'forbidden', 'true5');
    const inline = { _attachments: { bad: { data: 'aGVsbG8=' } } };
    assertError(await t.at('PUT', '/doc', { json: inline }), 403, 'forbidden', 'true5');
    assert.equal((await t.at('PUT', '/doc/good', { body: 'hello' })).status, 201);
  }),

  test('map functions see attachments as stubs', async (t) => {
    await t.put('_design/app', {
      views: { names: { map: '(doc) => { for (const n in doc._attachments) emit(n, doc._attachments[n].length); }' } },
    });
    await t.put('doc', { _attachments: { a: { data: 'aGVsbG8=' }, b: { data: 'eA==' } } });
    const rows = at((await t.get('/_design/app/_view/names')).json, 'rows');
    assert.deepEqual(rows, [
      { id: 'doc', key: 'a', value: 5 },
      { id: 'doc', key: 'b', value: 1 },
    ]);
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
