import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { assertHello, BINARY, HELLO_MD5, putAttachment } from '../../support/conformance/attachments.ts';
import { gzip } from '../../support/conformance/gzip.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

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

/** How the content of attachments is compressed, stored and sent (docs/http/attachments.md#writing-an-attachment). */
export default suite('attachment_encodings', [
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

  test('the same edit has the same revision, whatever compressed the bytes', async (t) => {
    const text = 'hello '.repeat(100);
    const plain = await putAttachment(t, '/a/x.txt', text, 'text/plain');
    const headers = { 'content-encoding': 'gzip', 'content-type': 'text/plain' };
    const packed = await t.at('PUT', '/b/x.txt', { body: await gzip(text), headers });
    assert.equal(stringAt(packed.json, 'rev'), plain);
  }),
]);
