import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { fakeHash, fakeRev } from '../../support/conformance/fake-revisions.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** `hello` and its digest, and that of other content. */
const HELLO = 'aGVsbG8=';
const HELLO_DIGEST = 'md5-XUFAKrxLKna5cZ2REBfFkg==';
const OTHER_DIGEST = 'md5-ndTkYTvVgc3HxymhK32brQ==';

/** A document of two revisions, whose attachment `f` came with the first. */
async function withAttachment(t: Toolkit): Promise<string> {
  const first = await t.put('doc', { _attachments: { f: { data: HELLO } } });
  return t.put('doc', { _rev: first, _attachments: { f: { stub: true } } });
}

async function assertRefused(t: Toolkit, rev: string, stub: object): Promise<void> {
  const json = { _rev: rev, _attachments: { f: { stub: true, ...stub } } };
  assertError(await t.at('PUT', '/doc', { json }), 412, 'missing_stub', 'id:doc, name:f');
  const docs = [{ _id: 'other' }, { _id: 'doc', ...json }];
  assertError(await t.at('POST', '/_bulk_docs', { json: { docs } }), 412, 'missing_stub', 'id:doc, name:f');
}

/** The status of a replicated third revision with that stub. */
async function replicateStub(t: Toolkit, stub: object, digits = 'c'): Promise<number> {
  const ids = [digits, 'b', 'a'].map(fakeHash);
  const json = {
    _rev: fakeRev(3, digits),
    _revisions: { start: 3, ids },
    _attachments: { f: { stub: true, ...stub } },
  };
  return (await t.at('PUT', '/doc?new_edits=false', { json })).status;
}

async function replicateBefore(t: Toolkit, content: object): Promise<void> {
  const attachments = { f: { content_type: 'image/png', revpos: 1, data: HELLO, ...content } };
  const _revisions = { start: 2, ids: [fakeHash('b'), fakeHash('a')] };
  await t.replicate([{ _id: 'doc', _rev: fakeRev(2, 'b'), _revisions, _attachments: attachments }]);
}

/** What a stub says has to be true of the content that it stands for (docs/http/attachments.md#attachments-in-documents). */
export default suite('attachment_stubs', [
  test('stubs are accepted as they were read, or with fewer members', async (t) => {
    let rev = await withAttachment(t);
    const { _attachments: attachments } = Object((await t.get('/doc?att_encoding_info=true')).json);
    assert.deepInclude(at(attachments, 'f'), { revpos: 1, digest: HELLO_DIGEST, length: 5, stub: true });
    const less = [{ revpos: 1 }, { digest: HELLO_DIGEST }, { revpos: null, digest: null }, { content_type: 'a/b' }];
    for (const stub of [at(attachments, 'f'), ...less]) {
      rev = await t.put('doc', { _rev: rev, _attachments: { f: { stub: true, ...Object(stub) } } });
    }
    assert.equal((await t.get('/doc/f')).text, 'hello');
  }),

  test('stubs with another revpos or digest are refused', async (t) => {
    const rev = await withAttachment(t);
    await assertRefused(t, rev, { revpos: 10 });
    await assertRefused(t, rev, { revpos: 2, digest: HELLO_DIGEST });
    await assertRefused(t, rev, { digest: OTHER_DIGEST });
    await assertRefused(t, rev, { revpos: 1, digest: OTHER_DIGEST });
    await assertRefused(t, rev, { digest: 'sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=' });
    assert.deepInclude(await t.info(), { doc_count: 1, update_seq: 2 });
  }),

  test("stubs read before another edit replaced the content are refused, so that the content isn't exchanged", async (t) => {
    const rev = await withAttachment(t);
    const stub = at((await t.get('/doc')).json, '_attachments', 'f');
    const last = await t.put('doc', { _rev: rev, _attachments: { f: { data: 'b3RoZXI=' } } });
    await assertRefused(t, last, Object(stub));
    assert.equal((await t.get('/doc/f')).text, 'other');
  }),

  test('stubs of the losing leaf of a conflict are refused on the winning leaf', async (t) => {
    const branch = (digit: string, data: string) => ({
      _id: 'doc',
      _rev: fakeRev(2, digit),
      _revisions: { start: 2, ids: [fakeHash(digit), fakeHash('a')] },
      _attachments: { f: { data, revpos: 2 } },
    });
    await t.replicate([branch('b', HELLO), branch('c', 'b3RoZXI=')]);
    const losing = at((await t.get(`/doc?rev=${fakeRev(2, 'b')}`)).json, '_attachments', 'f');
    assert.deepInclude(losing, { revpos: 2, digest: HELLO_DIGEST });
    await assertRefused(t, fakeRev(2, 'c'), Object(losing));
  }),

  test('stubs of replicated revisions must match revpos or digest', async (t) => {
    await replicateBefore(t, {});
    const stubs: [object, number][] = [
      [{ revpos: 3 }, 412],
      [{ digest: OTHER_DIGEST }, 412],
      [{ revpos: 2, digest: OTHER_DIGEST }, 412],
      [{ revpos: 1, length: 6 }, 412],
      [{ revpos: 2, digest: HELLO_DIGEST, length: 5 }, 201],
      [{ revpos: 1, digest: OTHER_DIGEST, length: 5 }, 201],
      [{ revpos: 1, digest: 'sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=' }, 201],
      [{}, 201],
    ];
    for (const [index, [stub, status]] of stubs.entries()) {
      assert.equal(await replicateStub(t, stub, `${index}`), status, JSON.stringify(stub));
    }
    const winner = at((await t.get('/doc')).json, '_attachments', 'f');
    assert.deepInclude(winner, { revpos: 1, digest: HELLO_DIGEST, content_type: 'image/png' });
  }),

  test('stubs of replicated revisions are resolved in the nearest ancestor that is stored', async (t) => {
    await replicateBefore(t, {});
    assert.equal(await replicateStub(t, { revpos: 1 }), 201);
    await t.compact();
    const ids = ['d', 'x', 'c', 'b', 'a'].map(fakeHash);
    const json = {
      _rev: fakeRev(5, 'd'),
      _revisions: { start: 5, ids },
      _attachments: { f: { stub: true, revpos: 4 } },
    };
    assert.equal((await t.at('PUT', '/doc?new_edits=false', { json })).status, 412);
    json._attachments.f.revpos = 1;
    assert.equal((await t.at('PUT', '/doc?new_edits=false', { json })).status, 201);
    assert.equal((await t.get('/doc/f')).text, 'hello');
  }),

  test('names with "." or ".." segments are refused in edits, and stubs of existing ones are kept', async (t) => {
    for (const name of ['.', '..']) {
      const reason = `An attachment can't be named "${name}", since no URL can end in it. Give it another name.`;
      const json = { _attachments: { [name]: { data: HELLO } } };
      assertError(await t.at('PUT', '/doc', { json }), 400, 'bad_request', reason);
      assertError(await t.at('POST', '/_bulk_docs', { json: { docs: [json] } }), 400, 'bad_request', reason);
    }
    const _attachments = { '..': { data: HELLO, revpos: 1 }, 'a/../b': { data: HELLO, revpos: 1 } };
    await t.replicate([{ _id: 'doc', _rev: fakeRev(1, 'a'), _attachments }]);
    // It goes along with edits, and comes with its document.
    const stubs = { '..': { stub: true }, 'a/../b': { stub: true }, c: { data: HELLO } };
    await t.put('doc', { _rev: fakeRev(1, 'a'), _attachments: stubs });
    const read = await t.at('GET', '/doc?attachments=true', { headers: { accept: 'application/json' } });
    assert.equal(at(read.json, '_attachments', '..', 'data'), HELLO);
    assert.equal((await t.get('/doc/a%2F..%2Fb')).text, 'hello');
  }),

  test('an attachment written under a path with encoded dot segments can be read at its Location', async (t) => {
    for (const name of ['a%2F..%2Fb', '..%2Fb', 'a%2F.']) {
      const written = await t.at('PUT', `/doc-${name}/${name}`, { body: name });
      const { pathname } = new URL(written.header('location') ?? '', t.baseUrl);
      assert.equal((await t.request('GET', pathname.slice(t.basePath.length))).text, name, name);
    }
  }),

  test('an empty name is refused with its own reason', async (t) => {
    const json = { _attachments: { '': { data: HELLO } } };
    assertError(await t.at('PUT', '/doc', { json }), 400, 'bad_request', 'Attachment name must not be empty');
  }),
]);
