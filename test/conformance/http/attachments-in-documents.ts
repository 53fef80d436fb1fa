import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { assertHello, BINARY } from '../../support/conformance/attachments.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** Attachments as members of documents (docs/http/attachments.md#attachments-in-documents). */
export default suite('attachments_in_documents', [
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
]);
